from __future__ import annotations

from aetcd.rpc import rpc_pb2 as pb

from app.etcd import messages
from app.etcd.model import Alarm, AlarmType, Header

HEADER = pb.ResponseHeader(cluster_id=2**64 - 1, member_id=1, revision=7, raft_term=2)


def test_fields_that_the_stubs_do_not_know_are_read() -> None:
    # storageVersion = 11, dbSizeQuota = 12, downgradeInfo = 13 {enabled = 1, targetVersion = 2}
    newer = b"\x5a\x053.6.0\x60\x80\x80\x80\x80\x08\x6a\x09\x08\x01\x12\x053.5.0"
    known = pb.StatusResponse(header=HEADER, version="3.6.16", isLearner=True, errors=["x"])
    status = messages.status(pb.StatusResponse.FromString(known.SerializeToString() + newer))
    assert status.header == Header(2**64 - 1, 1, 7, 2)
    assert (status.version, status.is_learner, status.errors) == ("3.6.16", True, ("x",))
    assert (status.storage_version, status.db_size_quota) == ("3.6.0", 2**31)
    assert (status.downgrade_enabled, status.downgrade_target) == (True, "3.5.0")


def test_a_status_without_them_is_read_too() -> None:
    status = messages.status(pb.StatusResponse(header=HEADER, version="3.4.23"))
    assert (status.storage_version, status.db_size_quota, status.downgrade_enabled) == ("", 0, False)
    assert not status.is_leader


def test_members_come_in_the_order_of_their_ids() -> None:
    response = pb.MemberListResponse(header=HEADER, members=[pb.Member(ID=2**63), pb.Member(ID=5, name="a")])
    listed = messages.member_list(response)
    assert [member.id for member in listed.members] == [5, 2**63]
    assert [member.started for member in listed.members] == [True, False]


def test_alarms_are_read_off_the_errors_of_a_status() -> None:
    errors = [
        "etcdserver: no leader",
        "memberID:10501334649042878790 alarm:CORRUPT ",
        "memberID:7  alarm:NOSPACE",
        "alarm:CORRUPT ",
        "memberID:9 alarm:LATER",
    ]
    read = messages.status(pb.StatusResponse(header=HEADER, errors=errors))

    assert read.errors == tuple(errors)
    assert read.alarms == (
        Alarm(10501334649042878790, AlarmType.CORRUPT),
        Alarm(7, AlarmType.NOSPACE),
        Alarm(0, AlarmType.CORRUPT),
        Alarm(9, AlarmType.UNKNOWN),
    )


def test_an_alarm_of_a_later_kind_is_unknown() -> None:
    response = pb.AlarmResponse(
        header=HEADER, alarms=[pb.AlarmMember(memberID=1, alarm=1), pb.AlarmMember(memberID=2, alarm=9)]
    )
    assert messages.alarms(response).alarms == (Alarm(1, AlarmType.NOSPACE), Alarm(2, AlarmType.UNKNOWN))
