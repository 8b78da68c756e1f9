from __future__ import annotations

import multiprocessing
import random
from pathlib import Path

import pytest
from pydantic import SecretStr

from proas.errors import DownloadError
from proas.localdb.download import JarCache, cache_dir, fetch
from proas.localdb.progress import Progress
from proas.localdb.release import Release
from proas.localdb.repository import MIRROR_VARIABLE, Repository

CONTENT = random.Random(1).randbytes(300_000)


def fetch_quickly(jars, artifacts, folder, **options):
    fetch(artifacts, folder, jars.repository, pause=0.01, **options)


def test_fetches_whole_files_and_leaves_nothing_else(jars, tmp_path):
    artifacts = [jars.artifact(f"a{number}", CONTENT[: 1000 * (number + 1)]) for number in range(12)]
    fetch_quickly(jars, artifacts, tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        artifact.file: CONTENT[: artifact.size] for artifact in artifacts
    }


def test_continues_what_an_earlier_run_left(jars, tmp_path):
    artifact = jars.artifact("a", CONTENT)
    (tmp_path / "a-1.0.jar.part").write_bytes(CONTENT[:123_456])
    fetch_quickly(jars, [artifact], tmp_path)
    assert (tmp_path / "a-1.0.jar").read_bytes() == CONTENT
    assert [request.range for request in jars.requests] == ["bytes=123456-"]


def test_a_part_that_is_complete_needs_no_request(jars, tmp_path):
    artifact = jars.artifact("a", CONTENT)
    (tmp_path / "a-1.0.jar.part").write_bytes(CONTENT)
    fetch_quickly(jars, [artifact], tmp_path)
    assert (tmp_path / "a-1.0.jar").read_bytes() == CONTENT
    assert jars.requests == []


@pytest.mark.parametrize("part", [CONTENT[:1000] + b"x" * 1000, b"x" * len(CONTENT), CONTENT + b"x"])
def test_a_part_with_wrong_bytes_is_thrown_away(jars, tmp_path, part):
    artifact = jars.artifact("a", CONTENT)
    (tmp_path / "a-1.0.jar.part").write_bytes(part)
    fetch_quickly(jars, [artifact], tmp_path)
    assert (tmp_path / "a-1.0.jar").read_bytes() == CONTENT


@pytest.mark.parametrize("fault", ["ignore-range", "other-range", 416])
def test_servers_that_do_not_know_ranges(jars, tmp_path, fault):
    artifact = jars.artifact("a", CONTENT)
    jars.faults[f"/{artifact.path}"] = [fault]
    (tmp_path / "a-1.0.jar.part").write_bytes(CONTENT[:1000])
    fetch_quickly(jars, [artifact], tmp_path)
    assert (tmp_path / "a-1.0.jar").read_bytes() == CONTENT


def test_a_connection_that_breaks_is_continued(jars, tmp_path):
    artifact = jars.artifact("a", CONTENT)
    jars.faults[f"/{artifact.path}"] = ["cut", "cut"]
    fetch_quickly(jars, [artifact], tmp_path)
    assert (tmp_path / "a-1.0.jar").read_bytes() == CONTENT
    ranges = [request.range for request in jars.requests]
    assert ranges[0] == ""
    assert all(later.startswith("bytes=") for later in ranges[1:])


def test_passing_faults_are_retried(jars, tmp_path):
    artifact = jars.artifact("a", CONTENT)
    jars.faults[f"/{artifact.path}"] = [503, 429, 500]
    fetch_quickly(jars, [artifact], tmp_path)
    assert len(jars.asked_for(artifact)) == 4


def test_faults_that_do_not_pass_end_in_an_error(jars, tmp_path):
    artifact = jars.artifact("a", CONTENT)
    jars.faults[f"/{artifact.path}"] = [503] * 20
    with pytest.raises(DownloadError, match=r"a-1\.0\.jar .*503") as caught:
        fetch_quickly(jars, [artifact], tmp_path)
    assert "HTTPS_PROXY" in caught.value.hint
    assert len(jars.requests) == 4


@pytest.mark.parametrize("status", [401, 403, 404])
def test_final_answers_are_not_retried(jars, tmp_path, status):
    artifact = jars.artifact("a", CONTENT)
    jars.faults[f"/{artifact.path}"] = [status]
    with pytest.raises(DownloadError, match=rf"org/example/a/1\.0/a-1\.0\.jar.*{status}"):
        fetch_quickly(jars, [artifact], tmp_path)
    assert len(jars.requests) == 1


def test_wrong_content_never_gets_the_name(jars, tmp_path):
    artifact = jars.artifact("a", CONTENT)
    jars.files[f"/{artifact.path}"] = b"y" + CONTENT[1:]
    with pytest.raises(DownloadError, match="checksum is not the pinned one"):
        fetch_quickly(jars, [artifact], tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_too_long_is_refused(jars, tmp_path):
    artifact = jars.artifact("a", CONTENT)
    jars.files[f"/{artifact.path}"] = CONTENT * 20
    with pytest.raises(DownloadError, match="checksum"):
        fetch_quickly(jars, [artifact], tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_ends_early_is_refused_and_kept_as_a_part(jars, tmp_path):
    artifact = jars.artifact("a", CONTENT)
    jars.files[f"/{artifact.path}"] = CONTENT[:1000]
    with pytest.raises(DownloadError, match=r"416|1000 of 300000 bytes"):
        fetch_quickly(jars, [artifact], tmp_path)
    assert not (tmp_path / artifact.file).exists()


def test_nobody_there(jars, tmp_path):
    artifact = jars.artifact("a", CONTENT)
    with pytest.raises(DownloadError, match=r"http://127\.0\.0\.1:1 "):
        fetch([artifact], tmp_path, Repository("http://127.0.0.1:1", "this test"), pause=0.01)


def test_one_bad_file_does_not_spoil_the_others(jars, tmp_path):
    good = [jars.artifact(f"a{number}", CONTENT) for number in range(6)]
    bad = jars.artifact("bad", CONTENT)
    del jars.files[f"/{bad.path}"]
    with pytest.raises(DownloadError, match="bad"):
        fetch_quickly(jars, [*good, bad], tmp_path)
    whole = [path for path in tmp_path.iterdir() if path.suffix == ".jar"]
    assert all(path.read_bytes() == CONTENT for path in whole)
    fetch_quickly(jars, good, tmp_path)
    assert {path.name for path in tmp_path.glob("*.jar")} == {artifact.file for artifact in good}


def test_credentials_are_sent_and_never_told(jars, tmp_path):
    artifact = jars.artifact("a", CONTENT)
    repository = Repository(jars.url, "this test", "alice", SecretStr("hunter2"))
    jars.faults[f"/{artifact.path}"] = [403]
    with pytest.raises(DownloadError) as caught:
        fetch([artifact], tmp_path, repository)
    assert jars.requests[0].authorization.startswith("Basic ")
    assert "hunter2" not in f"{caught.value} {repository!r}"


def test_progress_counts_every_byte_once(jars, tmp_path):
    artifacts = [jars.artifact(f"a{number}", CONTENT) for number in range(3)]
    jars.faults[f"/{artifacts[0].path}"] = ["cut", 503]
    (tmp_path / f"{artifacts[1].file}.part").write_bytes(CONTENT[:1000])
    seen: list[Progress] = []
    fetch_quickly(jars, artifacts, tmp_path, report=seen.append, stage="here")
    assert {progress.stage for progress in seen} == {"here"}
    assert seen[-1] == Progress("here", 3 * len(CONTENT), 3 * len(CONTENT))
    assert max(progress.done for progress in seen) == 3 * len(CONTENT)


@pytest.fixture
def cache(jars, tmp_path, monkeypatch):
    monkeypatch.setenv(MIRROR_VARIABLE, jars.url)
    release = jars.release(*(jars.artifact(f"a{number}", CONTENT[: 5000 + number]) for number in range(5)))
    return JarCache(release, tmp_path)


def test_cache_is_filled_once_and_then_needs_no_network(jars, cache):
    cache.verify()
    assert all(path.is_file() for path in cache.class_path)
    asked = len(jars.requests)
    assert asked == 5
    cache.verify()
    assert cache.verify() == []
    assert len(jars.requests) == asked


def test_cache_offline_from_the_start(cache, monkeypatch):
    monkeypatch.setenv(MIRROR_VARIABLE, "http://127.0.0.1:1")
    monkeypatch.setattr("proas.localdb.download._ATTEMPTS", 1)
    with pytest.raises(DownloadError):
        cache.verify()


def test_truncated_jar_is_seen_at_once(jars, cache):
    cache.verify()
    cache.class_path[2].write_bytes(b"half")
    assert [artifact.artifact for artifact in cache.missing()] == ["a2"]
    cache.verify()
    assert cache.missing() == []
    assert len(jars.requests) == 6


def test_damaged_jar_of_the_right_size_is_found_by_checksum(cache):
    cache.verify()
    sound = cache.class_path[3].read_bytes()
    cache.class_path[3].write_bytes(b"z" + sound[1:])
    assert cache.missing() == []
    assert [artifact.artifact for artifact in cache.corrupt()] == ["a3"]
    assert [artifact.artifact for artifact in cache.verify()] == ["a3"]
    assert cache.class_path[3].read_bytes() == sound
    assert cache.corrupt() == []


def test_unwritable_cache(cache, monkeypatch):
    blocked = cache.folder.parent
    blocked.parent.mkdir(parents=True, exist_ok=True)
    blocked.write_text("a file where the folder should be")
    with pytest.raises(DownloadError, match="cannot write the cache") as caught:
        cache.verify()
    assert "PROAS_CACHE_DIR" in caught.value.hint


def test_unusable_certificates_are_named(jars, tmp_path, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "absent.pem"))
    with pytest.raises(DownloadError, match="SSL_CERT_FILE"):
        fetch_quickly(jars, [jars.artifact("a", CONTENT)], tmp_path)


def _ensure(release: Release, root: Path, start, results) -> None:
    start.wait()
    try:
        JarCache(release, root).verify()
        results.put("")
    except Exception as error:  # noqa: BLE001
        results.put(repr(error))


def test_processes_share_the_work(jars, cache, tmp_path):
    context = multiprocessing.get_context("spawn")
    start, results = context.Barrier(2), context.Queue()
    workers = [context.Process(target=_ensure, args=(cache.release, tmp_path, start, results)) for _ in range(2)]
    for worker in workers:
        worker.start()
    assert [results.get(timeout=60) for _ in workers] == ["", ""]
    for worker in workers:
        worker.join()
        worker.close()
    results.close()
    results.join_thread()
    assert cache.corrupt() == []
    assert len(jars.requests) == 5


def test_cache_folder(tmp_path):
    assert cache_dir({"PROAS_CACHE_DIR": str(tmp_path)}) == tmp_path
    assert cache_dir({}).name == "proas"
