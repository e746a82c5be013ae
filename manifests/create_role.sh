#!/usr/bin/env bash
# Prepares a namespace for an operator that runs under its `default` service account (deployment.yaml): the
# rights that the operator needs, and the webhooks through which the API server asks it. Repeatable.
set -euo pipefail

usage() {
  cat <<TEXT
Usage: $(basename "$0") [options]

Lets an etcd operator run in a namespace, under the service account \`default\` there.

  --role-name=NAME          the ClusterRole, and the Role in the namespace (default etcd-operator;
                            environment variable ROLE_NAME)
  --role-binding-name=NAME  their bindings (default etcd-operator; environment variable ROLE_BINDING_NAME)
  --namespace=NAME          where the operator will run; it must exist (default: default;
                            environment variable NAMESPACE)

kubectl's current context says which cluster. Operators of several namespaces need a role name and a binding
name each.
TEXT
}

fail() {
  echo "$(basename "$0"): $1" >&2
  exit 1
}

role_name=${ROLE_NAME:-etcd-operator}
role_binding_name=${ROLE_BINDING_NAME:-etcd-operator}
namespace=${NAMESPACE:-default}

for option in "$@"; do
  case $option in
    --role-name=?*) role_name=${option#*=} ;;
    --role-binding-name=?*) role_binding_name=${option#*=} ;;
    --namespace=?*) namespace=${option#*=} ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; fail "unknown option $option" ;;
  esac
done

for name in "$role_name" "$role_binding_name" "$namespace"; do
  [[ $name =~ ^[a-z0-9]([-.:a-z0-9]*[a-z0-9])?$ ]] || fail "$name is not a name that Kubernetes takes"
done

kubectl get namespace "$namespace" >/dev/null || fail "create the namespace first: kubectl create namespace $namespace"

# A binding can't be pointed elsewhere without taking the rights from the operator that has them.
bound=$(kubectl get clusterrolebinding "$role_binding_name" --ignore-not-found \
  --output 'jsonpath={.roleRef.name} {.subjects[0].namespace}')
[[ -z $bound || $bound == "$role_name $namespace" ]] ||
  fail "the ClusterRoleBinding $role_binding_name binds the role ${bound% *} to the namespace ${bound#* } already: \
choose another --role-binding-name and --role-name"

folder=$(dirname "${BASH_SOURCE[0]}")/walk-through
kubectl kustomize "$folder" |
  sed -e "s/ROLE_BINDING_NAME/$role_binding_name/" -e "s/ROLE_NAME/$role_name/" \
    -e "s/etcd-operator-system/$namespace/" |
  kubectl apply --filename -
