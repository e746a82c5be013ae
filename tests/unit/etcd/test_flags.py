from __future__ import annotations

import pytest

from app.etcd import flags

VERSIONS = ("3.2.13", "3.3.27", "3.4.23", "3.5.0", "3.5.35", "3.6.16", "3.7.3")
CLUSTER = {"b": "http://b:2380", "a": "http://a:2380"}


def arguments(version: str, **options: object) -> tuple[str, ...]:
    return flags.arguments(
        version,
        name="a",
        peer_url="http://a:2380",
        client_url="http://a:2379",
        data_dir="/var/etcd/data",
        **options,  # type: ignore[arg-type]  # the tests below name what they pass
    )


def environment(version: str, **options: object) -> dict[str, str]:
    return flags.environment(version, cluster=CLUSTER, state="new", token="t", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("version", VERSIONS)
def test_no_setting_has_two_ways_in(version: str) -> None:
    settings = {"quota-backend-bytes": "1", "snapshot-count": "2"}
    given = {flags.variable(argument[2:].partition("=")[0]) for argument in arguments(version)}
    assert not given & set(environment(version, settings=settings))


def test_the_names_in_the_environment_are_the_same_for_every_version() -> None:
    assert len({tuple(environment(version)) for version in VERSIONS}) == 1


def test_corruption_checks_are_on_in_the_spelling_of_the_minor() -> None:
    def checks(version: str) -> dict[str, str]:
        return {
            name: value for name, value in environment(version).items() if value and "INITIAL_CL" not in name
        }

    experimental = {
        "ETCD_EXPERIMENTAL_INITIAL_CORRUPT_CHECK": "true",
        "ETCD_EXPERIMENTAL_COMPACT_HASH_CHECK_ENABLED": "true",
        "ETCD_EXPERIMENTAL_COMPACT_HASH_CHECK_TIME": "1m",
    }
    plain = {
        "ETCD_FEATURE_GATES": "InitialCorruptCheck=true,CompactHashCheck=true",
        "ETCD_COMPACT_HASH_CHECK_TIME": "1m",
    }
    assert checks("3.4.23") == checks("3.5.4") == {}
    assert checks("3.5.5") == checks("v3.5.35") == experimental
    assert checks("3.6.0") == checks("3.7.3") == plain


@pytest.mark.parametrize("version", ["3.5.35", "3.6.16", "3.7.3"])
@pytest.mark.parametrize("own", ["ETCD_FEATURE_GATES", "ETCD_EXPERIMENTAL_INITIAL_CORRUPT_CHECK"])
def test_one_spelling_of_the_users_silences_both_of_ours(version: str, own: str) -> None:
    found = environment(version, own=[own])
    assert own not in found
    assert not any(value for name, value in found.items() if name in flags._CORRUPTION_CHECKS)


def test_what_the_user_sets_is_left_out_of_the_arguments() -> None:
    found = arguments("3.6.16", own=["ETCD_LOGGER", "ETCD_PRE_VOTE"])
    assert not any(argument.startswith(("--logger", "--pre-vote")) for argument in found)
    assert set(found) < set(arguments("3.6.16"))


def test_the_metrics_port_is_opened_where_etcd_has_it() -> None:
    metrics = "--listen-metrics-urls=http://0.0.0.0:2381"
    assert metrics not in arguments("3.2.13")
    for version in VERSIONS[1:]:
        assert metrics in arguments(version)


def test_tls_changes_the_listeners_and_demands_client_certificates() -> None:
    files = flags.Certificates("/c.crt", "/c.key", "/ca.crt")
    found = arguments("3.6.16", peer_tls=files, client_tls=files)
    assert "--listen-peer-urls=https://0.0.0.0:2380" in found
    assert "--listen-client-urls=https://0.0.0.0:2379" in found
    assert "--listen-metrics-urls=http://0.0.0.0:2381" in found
    for prefix in ("", "peer-"):
        assert f"--{prefix}client-cert-auth=true" in found
        assert f"--{prefix}trusted-ca-file=/ca.crt" in found
        assert f"--{prefix}cert-file=/c.crt" in found
        assert f"--{prefix}key-file=/c.key" in found


def test_the_initial_cluster_is_written_in_a_fixed_order() -> None:
    assert environment("3.6.16")[flags.INITIAL_CLUSTER] == "a=http://a:2380,b=http://b:2380"
    assert flags.initial_cluster({}) == ""


def test_settings_of_the_user_are_fed_too() -> None:
    found = environment("3.6.16", settings={"quota-backend-bytes": "8589934592"})
    assert found["ETCD_QUOTA_BACKEND_BYTES"] == "8589934592"
