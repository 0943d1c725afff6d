"""API keys and tenants at the door of real peers, with the official client."""

import json
import re
import threading

import openai
import pytest

from bench.cluster import Cluster, exaserve, get_json, post_json, wait_for

QUESTION = [{"role": "user", "content": "Hello there"}]


class KeyFile:
    """The operator's file, by way of the command line."""

    def __init__(self, path):
        self.path = path
        self.made: list[str] = []

    def create(self, *flags: str) -> str:
        done = exaserve("apikeys", "create", f"--file={self.path}", *flags)
        assert done.returncode == 0, done.stderr
        key = done.stdout.strip()
        assert re.fullmatch("sk-exa-[0-9a-f]{8}-[0-9a-f]{64}", key)
        self.made.append(key)
        return key

    def revoke(self, key: str) -> None:
        done = exaserve("apikeys", "revoke", f"--file={self.path}", key.split("-")[2])
        assert done.returncode == 0, done.stderr

    def set_tenant(self, name: str, *lines: str) -> None:
        """What a tenant may do, as an operator edits it."""
        text = self.path.read_text()
        begin = text.index(f"[tenants.{name}]\n") + len(f"[tenants.{name}]\n")
        end = text.find("\n[", begin)
        self.path.write_text(text[:begin] + "".join(line + "\n" for line in lines) + (text[end:] if end >= 0 else ""))


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return KeyFile(tmp_path_factory.mktemp("keys") / "api-keys.toml")


@pytest.fixture(scope="module")
def admin(file):
    return file.create("--admin")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory, tiny_model, file, admin):
    flags = [f"--security-api-keys-file={file.path}"]
    with Cluster(tmp_path_factory.mktemp("cluster"), tiny_model, peers=2, replicas=1, flags=flags,
                 admin_key=admin) as cluster:
        yield cluster


@pytest.fixture
def tenant(file, cluster, request):
    """A key of a tenant of this test's own that every peer knows."""
    name = re.sub("[^a-z]", "-", request.node.name)[:60]
    key = file.create(f"--tenant={name}")
    known_everywhere(cluster, key)
    return name, key


def client(peer, key: str, retries: int = 0) -> openai.OpenAI:
    return openai.OpenAI(base_url=peer.url + "/v1", api_key=key, max_retries=retries, timeout=60)


def answers(peer, key: str) -> bool:
    try:
        client(peer, key).models.list()
        return True
    except openai.APIStatusError:
        return False


def known_everywhere(cluster, key: str) -> None:
    wait_for(lambda: all(answers(peer, key) for peer in cluster.peers), 10, "every peer knows the key")


def read_anew(cluster, change) -> None:
    """Makes a change to the file and waits until every peer has read it."""
    before = [peer.log.count("read again") for peer in cluster.peers]
    change()
    wait_for(lambda: all(peer.log.count("read again") > count for peer, count in zip(cluster.peers, before)), 10,
             "every peer has read the file")


def model_of(cluster, key: str) -> str:
    return client(cluster.peers[0], key).models.list().data[0].id


def ask(peer, key: str, model: str, retries: int = 0, **more):
    return client(peer, key, retries).chat.completions.create(model=model, messages=QUESTION, max_tokens=8, **more)


def test_a_key_of_the_file_opens_every_door(cluster, tenant):
    _, key = tenant
    model = model_of(cluster, key)
    for peer in cluster.peers:
        assert ask(peer, key, model).usage.completion_tokens > 0
        assert list(ask(peer, key, model, stream=True))


def test_a_wrong_key_is_an_authentication_error(cluster, tenant):
    _, key = tenant
    model = model_of(cluster, key)
    for wrong in ("none", key[:-1] + ("0" if key[-1] != "0" else "1"), "sk-exa-00000000-" + "0" * 64):
        with pytest.raises(openai.AuthenticationError) as refused:
            ask(cluster.peers[0], wrong, model)
        assert refused.value.code == "invalid_api_key"
    status, headers, _ = post_json(cluster.peers[0].url + "/v1/chat/completions", {"model": model, "messages": QUESTION})
    assert status == 401
    assert headers["www-authenticate"] == "Bearer"


def test_probes_and_scrapers_need_no_key(cluster):
    for peer in cluster.peers:
        assert get_json(peer.url + "/health")["status"] == "ok"
        assert peer.metric("http_requests_total") > 0


def test_a_model_of_others_is_forbidden_and_not_listed(file, cluster, tenant):
    name, key = tenant
    model = model_of(cluster, key)
    read_anew(cluster, lambda: file.set_tenant(name, 'models = ["another-*"]'))
    for peer in cluster.peers:
        with pytest.raises(openai.PermissionDeniedError) as refused:
            ask(peer, key, model)
        assert refused.value.code == "permission_denied"
        assert client(peer, key).models.list().data == []
        with pytest.raises(openai.NotFoundError):
            client(peer, key).models.retrieve(model)
    read_anew(cluster, lambda: file.set_tenant(name, f'models = ["another-*", "{model}"]'))
    assert ask(cluster.peers[0], key, model).usage.completion_tokens > 0


def test_above_the_rate_the_client_is_told_when_to_come_back_and_does(file, cluster, tenant):
    name, key = tenant
    model = model_of(cluster, key)
    read_anew(cluster, lambda: file.set_tenant(name, "requests_per_minute = 60", "burst_seconds = 2"))
    peer = cluster.peers[0]
    for _ in range(2):
        ask(peer, key, model)
    with pytest.raises(openai.RateLimitError) as refused:
        for _ in range(3):
            ask(peer, key, model)
    assert refused.value.code == "rate_limit_exceeded"
    assert 0 < int(refused.value.response.headers["retry-after-ms"]) <= 1000
    assert refused.value.response.headers["retry-after"] == "1"
    for _ in range(2):
        assert ask(peer, key, model, retries=3).usage.completion_tokens > 0
    # Every entry counts for itself.
    ask(cluster.peers[1], key, model)


def test_tokens_of_answers_count(file, cluster, tenant):
    name, key = tenant
    model = model_of(cluster, key)
    read_anew(cluster, lambda: file.set_tenant(name, "tokens_per_minute = 60", "burst_seconds = 60"))
    peer = cluster.peers[0]
    list(ask(peer, key, model, stream=True))
    with pytest.raises(openai.RateLimitError) as refused:
        for _ in range(30):
            ask(peer, key, model)
    assert refused.value.type == "tokens"


def test_a_quota_ends_the_day(file, cluster, tenant):
    name, key = tenant
    model = model_of(cluster, key)
    read_anew(cluster, lambda: file.set_tenant(name, "tokens_per_day = 20"))
    with pytest.raises(openai.RateLimitError) as refused:
        for _ in range(30):
            ask(cluster.peers[0], key, model)
    assert refused.value.code == "insufficient_quota"
    assert refused.value.response.headers["x-should-retry"] == "false"


def test_one_tenants_limit_is_not_anothers(file, cluster, tenant):
    name, key = tenant
    model = model_of(cluster, key)
    other = file.create("--tenant=unlimited")
    known_everywhere(cluster, other)
    read_anew(cluster, lambda: file.set_tenant(name, "requests_per_minute = 1"))
    ask(cluster.peers[0], key, model)
    with pytest.raises(openai.RateLimitError):
        ask(cluster.peers[0], key, model)
    for _ in range(10):
        ask(cluster.peers[0], other, model)


def test_only_an_admins_key_operates_the_cluster(cluster, tenant, admin):
    _, key = tenant
    url = cluster.peers[0].url
    done = exaserve("members", "--json", f"--peer={url}", EXASERVE_ADMIN_KEY=admin)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["members"]) == 2
    for command in ("members", "status", "leave", "confirm-dead"):
        for wrong, said in (("", "--admin-key"), (key + "0", "does not know"), (key, "admin's key")):
            done = exaserve(command, f"--peer={url}", EXASERVE_ADMIN_KEY=wrong)
            assert done.returncode == 5, (command, done.stdout, done.stderr)
            assert said in done.stderr
    with pytest.raises(openai.PermissionDeniedError):
        client(cluster.peers[0], admin).models.list()
    assert cluster.peers[0].process.poll() is None


def test_the_file_changes_under_load_and_no_request_notices(file, cluster, tenant):
    _, key = tenant
    model = model_of(cluster, key)
    failures: list[str] = []
    served = [0, 0]
    stop = threading.Event()

    def load(at: int) -> None:
        with client(cluster.peers[at], key) as mine:
            while not stop.is_set():
                try:
                    for _ in mine.chat.completions.create(model=model, messages=QUESTION, max_tokens=16, stream=True):
                        pass
                    served[at] += 1
                except openai.OpenAIError as error:
                    failures.append(repr(error))

    threads = [threading.Thread(target=load, args=(at,)) for at in (0, 1)]
    for thread in threads:
        thread.start()
    try:
        for round in range(3):
            fresh = file.create(f"--tenant=guest-{round}")
            known_everywhere(cluster, fresh)
            file.revoke(fresh)
            wait_for(lambda: not any(answers(peer, fresh) for peer in cluster.peers), 10, "the revoked key is refused")
        good = file.path.read_text()
        file.path.write_text(good + "[tenants.bad]\nrequests_per_minute = -1\n")
        wait_for(lambda: all("cannot be used" in peer.log for peer in cluster.peers), 10, "the bad file is told of")
        told = exaserve("status", "--peer", cluster.peers[0].url, "--admin-key", cluster.peers[0].admin_key).stdout
        assert "alarm           the file of API keys is not used" in told and "requests_per_minute" in told
        before = list(served)
        wait_for(lambda: all(now > then for now, then in zip(served, before)), 10, "service goes on with the old keys")
        assert cluster.peers[0].metric("alarm") == 1
        read_anew(cluster, lambda: file.path.write_text(good))
        assert cluster.peers[0].admin("status")["api_keys"] == {"failure": None}
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert failures == []
    assert min(served) > 0


def test_no_key_is_in_a_log_or_in_the_file(file, cluster):
    assert len(file.made) > 5
    text = file.path.read_text() + "".join(peer.log for peer in cluster.peers)
    for key in file.made:
        assert key.split("-")[3] not in text


def test_a_restarted_peer_warms_up_behind_its_keys_and_gives_no_new_quota(file, cluster, tenant):
    name, key = tenant
    model = model_of(cluster, key)
    read_anew(cluster, lambda: file.set_tenant(name, "tokens_per_day = 20"))
    peer = cluster.peers[1]
    with pytest.raises(openai.RateLimitError):
        for _ in range(30):
            ask(peer, key, model)
    peer.terminate()
    assert peer.wait(60) == 0
    peer.start()
    cluster.wait_ready(60)
    with pytest.raises(openai.RateLimitError) as refused:
        ask(peer, key, model)
    assert refused.value.code == "insufficient_quota"


def test_beyond_loopback_a_door_needs_keys_or_a_waiver(tmp_path, tiny_model, file):
    command = ["peer", f"--data-dir={tmp_path / 'data'}", f"--model-path={tiny_model}", "--model-replicas=0",
               "--listen-http=0.0.0.0:0", "--listen-link=127.0.0.1:0", "--listen-gossip=127.0.0.1:0",
               "--advertise-http=127.0.0.1:7"]
    done = exaserve(*command)
    assert done.returncode == 2
    assert "security.api_keys_file" in done.stderr and "security.allow_anonymous" in done.stderr
    for more in (f"--security-api-keys-file={file.path}", "--security-allow-anonymous=true"):
        # Past the check, at the next thing that is wrong.
        done = exaserve(*command, more, "--security-cluster-key-file=/nowhere")
        assert done.returncode == 2
        assert "cluster_key_file" in done.stderr and "allow_anonymous" not in done.stderr
    bad = tmp_path / "bad.toml"
    bad.write_text("[tenants.a]\n\nrate = 5\n")
    done = exaserve(*command, f"--security-api-keys-file={bad}")
    assert done.returncode == 2
    assert f"{bad}: line 3: unknown key 'tenants.a.rate'" in done.stderr


def test_a_route_is_told_as_the_door_would(cluster, file, tenant):
    name, key = tenant
    peer = cluster.peers[0]
    model = model_of(cluster, key)
    ask_route = ["route", "--session", "s", "--tenant", name, "--peer", peer.url, "--admin-key", peer.admin_key]
    assert exaserve(*ask_route).returncode == 0
    read_anew(cluster, lambda: file.set_tenant(name, 'models = ["other-*"]'))
    with pytest.raises(openai.PermissionDeniedError):
        ask(peer, key, model)
    refused = exaserve(*ask_route)
    assert refused.returncode == 5
    assert f"tenant '{name}' may not use the model '{model}'" in refused.stderr
    unknown = exaserve("route", "--session", "s", "--tenant", "nobody", "--peer", peer.url, "--admin-key", peer.admin_key)
    assert unknown.returncode == 5 and "nobody" in unknown.stderr
