"""What a peer may do before it has met its cluster again, and who keeps a name."""

import re
import shutil
import signal
import time

import pytest

from bench.cluster import Cluster, Peer, exaserve, free_ports, wait_for


@pytest.fixture
def three(tmp_path, tiny_model):
    with Cluster(tmp_path, tiny_model, peers=3, replicas=1) as cluster:
        yield cluster


@pytest.fixture
def encrypted(tmp_path, tiny_model):
    key_file = tmp_path / "cluster.key"
    key_file.write_text(exaserve("keys", "generate").stdout)
    key_file.chmod(0o600)
    with Cluster(tmp_path, tiny_model, peers=3, replicas=1,
                 flags=[f"--security-cluster-key-file={key_file}"]) as cluster:
        yield cluster


def liveness(observer: Peer, name: str) -> list[str]:
    return [member["liveness"] for member in observer.admin("members")["members"] if member["name"] == name]


def remembers(peer: Peer, members: int) -> bool:
    """Between the first and the last line of the file stands one for each member."""
    file = peer.directory / "data/members"
    return file.exists() and len(file.read_text().splitlines()) == members + 2


def status(peer: Peer) -> dict:
    """Empty while nobody answers."""
    try:
        return peer.admin("status")
    except OSError:
        return {}


def alarms(peer: Peer) -> list[str]:
    return status(peer).get("alarms", [])


def state(peer: Peer) -> str | None:
    return status(peer).get("self", {}).get("state")


def keys(peer: Peer, *arguments: str):
    return exaserve("keys", *arguments, "--peer", peer.url)


def test_a_peer_alone_after_a_restart_changes_no_keys(encrypted):
    lone, *others = encrypted.peers
    wait_for(lambda: remembers(lone, 2), 15, "it remembers its members")
    old = lone.admin("keys")["primary"]
    for peer in encrypted.peers:
        peer.kill()
    lone.start()
    wait_for(lambda: "alone_with_seeds" in alarms(lone), 20, "it stands alone")
    for arguments in (["add"], ["use", old], ["remove", old]):
        refused = keys(lone, *arguments)
        assert refused.returncode == 5, refused.stdout
        assert "has not met its cluster" in refused.stderr, refused.stderr
    refused = exaserve("confirm-dead", "--peer", lone.url)
    assert refused.returncode == 5 and "has not met its cluster" in refused.stderr
    # Two of three: the third is named.
    others[0].start()
    wait_for(lambda: liveness(lone, others[0].name) == ["alive"], 20, "they meet")
    added = keys(lone, "add")
    assert added.returncode == 0, added.stderr
    fresh = re.search(r"added ([0-9a-f]{8})", added.stdout)[1]
    refused = keys(lone, "use", fresh)
    assert refused.returncode == 5 and others[1].name in refused.stderr, refused.stderr
    others[1].start()
    wait_for(lambda: all(peer.sees(3, 3) for peer in encrypted.peers), 60, "all are back")
    wait_for(lambda: keys(lone, "use", fresh).returncode == 0, 20, "all hold the key")


def test_a_forced_command_says_what_it_overrode(encrypted):
    lone = encrypted.peers[0]
    wait_for(lambda: remembers(lone, 2), 15, "it remembers its members")
    for peer in encrypted.peers:
        peer.kill()
    lone.start()
    wait_for(lambda: "alone_with_seeds" in alarms(lone), 20, "it stands alone")
    forced = keys(lone, "add", "--force")
    assert forced.returncode == 0 and "forced although" in forced.stdout, forced.stdout


def test_a_peer_with_a_new_disk_waits_for_its_name_and_takes_it(three):
    observer, _, wiped = three.peers
    for _ in range(2):
        before = status(wiped)["self"]["id"]
        wiped.kill()
        shutil.rmtree(wiped.directory / "data")
        wiped.start()
        wait_for(lambda: "waits_for_name" in alarms(wiped), 10,
                 "it says that it waits")
        assert wiped.admin("status")["waits_for"]["id"] == before
        wait_for(lambda: state(wiped) == "serving", 30, "it takes its name")
    assert sorted(liveness(observer, wiped.name))[0] == "alive"


def test_a_replaced_peer_yields_when_it_wakes(three, tmp_path, tiny_model):
    observer, _, hung = three.peers
    hung.process.send_signal(signal.SIGSTOP)
    wait_for(lambda: liveness(observer, hung.name) == ["dead"], 30, "it is declared dead")
    seed = f"--seeds=127.0.0.1:{observer.gossip_port}"
    replacement = Peer(hung.name, tmp_path / "replacement", free_ports(1)[0],
                       [f"--model-path={tiny_model}", "--kv-capacity-gib=1", seed])
    replacement.start()
    try:
        wait_for(lambda: "alive" in liveness(observer, hung.name), 30, "it is replaced")
        wait_for(lambda: state(replacement) == "serving", 30, "the replacement serves")
        hung.process.send_signal(signal.SIGCONT)
        assert hung.wait(20) == 7
        time.sleep(2)
        assert replacement.process.poll() is None, replacement.log[-2000:]
    finally:
        replacement.kill()


def test_a_newcomer_does_not_end_the_holder_of_its_name(three, tmp_path, tiny_model):
    observer, holder, _ = three.peers
    seed = f"--seeds=127.0.0.1:{observer.gossip_port}"
    thief = Peer(holder.name, tmp_path / "thief", free_ports(1)[0], [f"--model-path={tiny_model}", seed])
    thief.start()
    assert thief.wait(30) == 7
    time.sleep(3)
    assert holder.process.poll() is None
    assert liveness(observer, holder.name).count("alive") == 1


def test_a_seed_that_stays_silent_is_shown(three):
    peer = three.peers[0]
    dead = "127.0.0.1:9"
    exaserve("join", "--peer", peer.url, dead)
    states = {seed["seed"]: seed["state"] for seed in peer.admin("status")["seeds"]}
    assert states[dead] == "silent"
    shown = exaserve("status", "--peer", peer.url).stdout
    assert f"{dead} is silent" in shown, shown
