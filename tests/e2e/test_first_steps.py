"""tools/setup, quickstart, fetch_model, compile and test say what to do next when a fresh machine lacks something.

They run in a copy of the tree's tools/, and see no programs but those of a folder made here: nothing is installed.
"""

import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[2]
PROGRAMS = "awk bash cat cut date dirname df find grep id mkdir mktemp mv ninja meson python3 realpath rm sed sha256sum sort stat".split()


class Checkout:
    def __init__(self, path: pathlib.Path):
        self.path = path / "a checkout"
        self.bin = path / "bin"
        self.home = path / "home"
        (self.path / "tools").mkdir(parents=True)
        self.bin.mkdir()
        self.home.mkdir()
        for tool in ("setup", "quickstart", "fetch_model", "compile", "test"):
            shutil.copy(ROOT / "tools" / tool, self.path / "tools")
        for name in PROGRAMS:
            if found := shutil.which(name):
                (self.bin / name).symlink_to(found)

    def stub(self, name: str, script: str) -> None:
        """Replaces a program; the script is sh."""
        (self.bin / name).unlink(missing_ok=True)
        (self.bin / name).write_text(f"#!{shutil.which('bash')}\n{script}\n")
        (self.bin / name).chmod(0o755)

    def run(self, *command: str, cwd: pathlib.Path | None = None) -> subprocess.CompletedProcess:
        return subprocess.run([self.path / command[0], *command[1:]], cwd=cwd or self.path, text=True, timeout=60,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={"PATH": str(self.bin), "HOME": str(self.home), "TMPDIR": str(self.home)})


@pytest.fixture
def checkout(tmp_path):
    return Checkout(tmp_path)


@pytest.fixture
def bare(checkout):
    """No package is installed."""
    checkout.stub("dpkg-query", "exit 1")
    checkout.stub("id", "echo 0")
    return checkout


def test_setup_without_root_and_sudo_says_what_root_runs(bare):
    bare.stub("id", "echo 1000")
    done = bare.run("tools/setup")
    assert done.returncode == 1
    assert "as root run: apt-get update && apt-get install --no-install-recommends build-essential meson" in done.stdout


def test_setup_whom_sudo_refuses_says_what_root_runs(bare):
    bare.stub("id", "echo 1000")
    bare.stub("sudo", "echo 'sudo: a password is required' >&2; exit 1")
    done = bare.run("tools/setup")
    assert done.returncode == 1
    assert "sudo: a password is required" in done.stdout
    assert "as root run: apt-get update && apt-get install" in done.stdout


@pytest.mark.parametrize("says, advice", [
    ("E: You don't have enough free space in /var/cache/apt/archives/.", "The disk is full"),
    ("dpkg: error processing archive x.deb (--unpack):\n cannot copy data: No space left on device", "The disk is full"),
    ("E: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend)", "Another package manager is at work"),
    ("E: Failed to fetch http://x/x.deb  Temporary failure resolving 'x'", "Debian's mirror was not reached"),
    ("E: Unable to locate package libboost1.81-dev", "This needs Debian 12"),
    (" libboost-dev : Conflicts: libboost1.81-dev", "If libboost-dev (1.74) is installed, remove it"),
])
def test_setup_tells_why_apt_failed_and_what_to_do(bare, says, advice):
    bare.stub("apt-get", f"[ $1 = update ] || {{ cat <<'TEXT' >&2; exit 100; }}\n{says}\nTEXT")
    done = bare.run("tools/setup")
    assert done.returncode == 1
    assert says.splitlines()[0] in done.stdout
    assert advice in done.stdout


def test_setup_shows_the_cause_before_its_hundred_consequences(bare):
    bare.stub("apt-get", "if [ $1 = update ]; then echo 'W: Failed to fetch http://x  Could not resolve' >&2; exit 0; fi\n"
                         "for i in {1..5000}; do echo \"E: Unable to locate package p$i\" >&2; done; exit 100")
    done = bare.run("tools/setup")
    assert done.returncode == 1
    assert "Could not resolve" in done.stdout
    assert "Debian's mirror was not reached" in done.stdout
    assert len(done.stdout.splitlines()) < 12


def test_setup_says_when_ccache_cannot_write(checkout):
    checkout.stub("dpkg-query", "echo install ok installed")
    checkout.stub("ccache", "echo 'ccache: error: Failed to create directory' >&2; exit 1")
    (checkout.path / ".venv/bin").mkdir(parents=True)
    (checkout.path / ".venv/bin/pip").symlink_to(shutil.which("true"))
    done = checkout.run("tools/setup", "--run-only", "--no-model")
    assert done.returncode == 1
    assert "export XDG_CACHE_HOME=" in done.stdout


def test_quickstart_finds_a_model_from_where_it_was_called_and_misses_it_at_once(checkout):
    done = checkout.run("tools/quickstart", "--model", "mine.gguf", cwd=checkout.home)
    assert done.returncode == 1
    assert f"there is no file {checkout.home}/mine.gguf" in done.stdout


def test_quickstart_without_a_model_ends_before_it_compiles(checkout):
    (checkout.path / "tools/setup").write_text("#!/bin/sh\nexit 0\n")
    checkout.stub("ninja", "echo compiling")
    done = checkout.run("tools/quickstart", "--once")
    assert done.returncode == 1
    assert "there is no model" in done.stdout
    assert "compiling" not in done.stdout


def test_a_suite_that_is_none_is_refused_before_anything_is_built(checkout):
    (checkout.path / "tools/setup").write_text("#!/bin/sh\necho building\n")
    done = checkout.run("tools/test", "unit", "nonsense")
    assert done.returncode == 2
    assert "there is no suite 'nonsense'" in done.stdout
    assert "building" not in done.stdout


def test_fetch_model_says_when_the_cache_cannot_be_written(checkout):
    (checkout.path / ".venv/bin").mkdir(parents=True)
    (checkout.path / ".venv/bin/pip").symlink_to(shutil.which("true"))
    (checkout.home / ".cache").write_text("a file, where the folder would be")
    done = checkout.run("tools/fetch_model")
    assert done.returncode == 1
    assert "set XDG_CACHE_HOME to a folder that can" in done.stdout


def test_compile_takes_sources_in_that_came_and_leaves_out_those_that_went(checkout):
    for folder in ("kernels", "proto", "sim", "src", "tests"):
        (checkout.path / folder).mkdir()
    (checkout.path / "list").write_text("ls src/*.c\n")
    (checkout.path / "meson.build").write_text(
        "project('p', 'c')\nexecutable('p', run_command('sh', 'list', check: true).stdout().split())\n")
    (checkout.path / "src/main.c").write_text("int answer(void) { return 0; }\nint main(void) { return answer(); }\n")
    for name in ("cc", "gcc", "ld", "as", "sh", "ls", "ar"):
        if found := shutil.which(name):
            (checkout.bin / name).symlink_to(found)
    for command in (("../bin/meson", "setup", "build"), ("tools/compile", "build")):
        done = checkout.run(*command)
        assert done.returncode == 0, done.stdout

    (checkout.path / "src/main.c").unlink()
    (checkout.path / "src/first.c").write_text("int answer(void);\nint main(void) { return answer(); }\n")
    (checkout.path / "src/second.c").write_text("int answer(void) { return 0; }\n")
    done = checkout.run("tools/compile", "build")
    assert done.returncode == 0, done.stdout
    assert subprocess.run([checkout.path / "build/p"]).returncode == 0
    assert checkout.run("tools/compile", "build").stdout == ""

    (checkout.path / "src/second.c").write_text("int answer(void) { return }\n")
    done = checkout.run("tools/compile", "build")
    assert done.returncode == 1
    assert "the same command goes on from there" in done.stdout
