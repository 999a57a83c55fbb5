import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from radrl.scoring import ScoringError
from radrl.scoring.judge import AnswerCache, cache_key

FILL = """
import sys
from pathlib import Path
from radrl.scoring.judge import AnswerCache
cache, start = AnswerCache(Path(sys.argv[1])), int(sys.argv[2])
for n in range(start, start + 50):
    cache.put(str(n), f"answer {n} of {start}")
"""


def test_what_is_put_is_there_for_the_next(tmp_path):
    file = tmp_path / "new" / "answers.sqlite"
    first = AnswerCache(file)
    assert first.get("k") is None
    assert first.put("k", "é\n\0") == "é\n\0"
    first.close()
    assert AnswerCache(file).get("k") == "é\n\0"


def test_what_is_dropped_is_gone_and_its_place_free(tmp_path):
    cache = AnswerCache(tmp_path / "a")
    cache.put("k", "old")
    cache.drop("k")
    cache.drop("never there")
    assert cache.get("k") is None
    assert cache.put("k", "new") == "new"


def test_who_comes_second_reads_the_firsts_answer(tmp_path):
    first, second = AnswerCache(tmp_path / "a"), AnswerCache(tmp_path / "a")
    assert first.put("k", "one") == second.put("k", "two") == second.get("k") == "one"


def test_only_the_owner_reads_the_file(tmp_path):
    AnswerCache(tmp_path / "a").put("k", "v")
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o600


def test_threads_share_a_cache(tmp_path):
    cache = AnswerCache(tmp_path / "a")
    with ThreadPoolExecutor(8) as pool:
        kept = list(pool.map(lambda n: cache.put(str(n % 20), str(n % 20)), range(200)))
    assert kept == [str(n % 20) for n in range(200)]


def test_processes_share_a_file(tmp_path):
    commands = [[sys.executable, "-c", FILL, str(tmp_path / "a"), start] for start in ("0", "25")]
    processes = [subprocess.Popen(command) for command in commands]
    assert [process.wait(60) for process in processes] == [0, 0]
    cache = AnswerCache(tmp_path / "a")
    assert all(cache.get(str(n)) in (f"answer {n} of 0", f"answer {n} of 25") for n in range(75))


def test_a_file_of_another_kind_is_named(tmp_path):
    (tmp_path / "a").write_text("not a database, and longer than SQLite's header of a hundred bytes" * 3)
    with pytest.raises(ScoringError, match=r"cache of answers .*a: file is not a database; mend or delete"):
        AnswerCache(tmp_path / "a")
    with pytest.raises(ScoringError, match="no cache of answers at"):
        AnswerCache(tmp_path / "a" / "b")


def test_a_key_depends_on_every_value_and_on_no_order():
    asked = {"model": "m", "settings": {"seed": 1, "max_tokens": 2}, "prompt": "é"}
    again = {"prompt": "é", "settings": {"max_tokens": 2, "seed": 1}, "model": "m"}
    assert cache_key(asked) == cache_key(again)
    assert cache_key(asked) != cache_key(asked | {"prompt": "e"})
    assert cache_key(asked) != cache_key(asked | {"settings": {"seed": 1}})
