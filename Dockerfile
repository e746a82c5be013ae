# The operator's image: a Python, the locked packages, the operator; no root, nothing that is written to.
# The same inputs give the same layers (with `--timestamp 0`, or SOURCE_DATE_EPOCH=0 for BuildKit).

# Any image with Python 3.11 or newer, glibc and libstdc++. BASE needs no shell; BUILD, whose files stay behind, does,
# and has the same Python in the same place.
ARG BASE=python:3.11-slim-bookworm
ARG BUILD=${BASE}
ARG VERSION=0.10.0

FROM ${BUILD} AS packages
# How to call pip, and options for it, such as another index.
ARG PIP="python3 -m pip"
ARG PIP_OPTIONS=""
# Bytecode is made here once, for the standard library too (images of Python come without), and found at run
# time by this variable. It is never checked against the sources, which can't change. What the operator has no
# use for (tests, the typed API of kubernetes_asyncio) has none.
ENV PYTHONPYCACHEPREFIX=/opt/etcd-operator/bytecode PYTHONHASHSEED=0
COPY requirements.lock /tmp/
RUN ${PIP} install ${PIP_OPTIONS} --disable-pip-version-check --no-cache-dir --no-compile --no-deps \
      --only-binary :all: --require-hashes --root-user-action ignore \
      --target /opt/etcd-operator/packages --requirement /tmp/requirements.lock \
 && cd /opt/etcd-operator/packages \
 && rm -rf bin \
 && find . -depth \( -type d -name tests -o -name '*.pyx' -o -name '*.pxd' -o -name '*.pyi' -o -name '*.c' \
      -o -name '*.h' \) -exec rm -rf {} + \
 && rm -rf "${PYTHONPYCACHEPREFIX}" \
 && python3 -m compileall -q --invalidation-mode unchecked-hash \
      -x '/(test|idlelib|lib2to3|tkinter|turtledemo|ensurepip|(site|dist)-packages|client/(api|models))/' \
      "$(python3 -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')" .

FROM ${BUILD} AS operator
ARG VERSION
ENV PYTHONPYCACHEPREFIX=/opt/etcd-operator/bytecode PYTHONHASHSEED=0
COPY app /opt/etcd-operator/operator/app
COPY certs /opt/etcd-operator/operator/certs
COPY webhooks /opt/etcd-operator/operator/webhooks
RUN python3 -m compileall -q --invalidation-mode unchecked-hash /opt/etcd-operator/operator \
 && mkdir -p "/opt/etcd-operator/operator/etcd_operator-${VERSION}.dist-info" /usr/local/bin \
 && printf 'Metadata-Version: 2.1\nName: etcd-operator\nVersion: %s\n' "${VERSION}" \
      > "/opt/etcd-operator/operator/etcd_operator-${VERSION}.dist-info/METADATA" \
 && printf '#!%s\nimport sys\n\nfrom app.cli import main\n\nsys.exit(main())\n' "$(command -v python3)" \
      > /usr/local/bin/etcd-operator \
 && chmod 755 /usr/local/bin/etcd-operator

FROM ${BASE}
ARG VERSION
LABEL org.opencontainers.image.title="etcd-operator" \
      org.opencontainers.image.description="A Kubernetes operator that runs etcd clusters" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}"
ENV PYTHONPATH=/opt/etcd-operator/operator:/opt/etcd-operator/packages \
    PYTHONPYCACHEPREFIX=/opt/etcd-operator/bytecode \
    PYTHONUNBUFFERED=1
COPY --from=packages /opt/etcd-operator /opt/etcd-operator
COPY --from=operator /usr/local/bin/etcd-operator /usr/local/bin/etcd-operator
COPY --from=operator /opt/etcd-operator /opt/etcd-operator
USER 65532:65532
EXPOSE 8080 9443
ENTRYPOINT ["/usr/local/bin/etcd-operator"]
