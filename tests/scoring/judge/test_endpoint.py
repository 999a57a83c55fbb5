import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime, formatdate

import pytest

from radrl.scoring import ScoringError
from radrl.scoring.judge import Answer
from radrl.scoring.judge.endpoint import EndpointJudge

SETTINGS = {
    "allowed_hosts": ["127.0.0.1"],
    "concurrency": 4,
    "retries": 2,
    "timeout": 5.0,
    "max_tokens": 64,
    "temperature": 0.0,
    "seed": 7,
    "backoff": 0.01,
    "longest_wait": 0.2,
}


def judge(url, **changes):
    return EndpointJudge(url, "m", **SETTINGS | changes)


def ask_one(server, **changes):
    return judge(server.url, **changes).answer(["p"])[0]


@pytest.fixture
def echo(serve, says):
    return serve(lambda prompt, _: says(f"re {prompt}"))


def test_answers_come_in_the_prompts_order_and_each_prompt_is_asked_once(serve, says):
    server = serve(lambda prompt, _: says(f"re {prompt}", delay=0.1 if prompt == "a" else 0))
    assert judge(server.url).answer(["a", "b", "a", "c"]) == [
        Answer("re a"), Answer("re b"), Answer("re a"), Answer("re c")
    ]  # fmt: skip
    assert sorted(server.prompts) == ["a", "b", "c"]


def test_a_request_says_all_that_the_answer_depends_on(echo, monkeypatch):
    monkeypatch.setenv("RADRL_TEST_KEY", "secret")
    schema = {"type": "object", "properties": {"facts": {"type": "array"}}}
    asked = judge(f"{echo.url}/", api_key_env="RADRL_TEST_KEY", structured=schema, extra_body={"top_k": 1})
    asked.answer(["p"])
    assert echo.requests == [
        {
            "model": "m",
            "max_tokens": 64,
            "temperature": 0.0,
            "seed": 7,
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "answer", "schema": schema, "strict": True},
            },
            "top_k": 1,
            "messages": [{"role": "user", "content": "p"}],
        }
    ]
    assert echo.paths == ["/v1/chat/completions"]
    assert echo.headers[0]["Authorization"] == "Bearer secret"
    assert asked.name == "endpoint:m"
    assert asked.about["temperature"] == "0.0"
    assert "secret" not in repr((asked.about, asked))


def test_without_key_and_seed_none_is_sent(echo, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    ask_one(echo, seed=None)
    assert "seed" not in echo.requests[0]
    assert not {"Authorization", "Cookie"} & echo.headers[0].keys()


@pytest.mark.parametrize("hosts", [[], ["localhost"], ["127.0.0.1.example.org"], ["127.0.0.1:80"]])
def test_a_host_that_is_not_allowed_by_name_gets_nothing(echo, hosts):
    with pytest.raises(ScoringError, match=r"nothing was sent: host '127.0.0.1' is not in allowed_hosts"):
        judge(echo.url, allowed_hosts=hosts)
    assert echo.requests == []


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1@evil.example/v1", "http://u:pw@127.0.0.1/v1", "ftp://127.0.0.1/v1", "127.0.0.1", ""],
)
def test_urls_that_hide_a_host_or_hold_a_password_are_refused(url):
    with pytest.raises(ScoringError, match="must be an API's base") as refused:
        judge(url)
    assert "pw" not in str(refused.value)


def test_proxies_of_the_environment_get_nothing(echo, serve, says, monkeypatch):
    proxy = serve(lambda prompt, _: says("from the proxy"))
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, proxy.url.removesuffix("/v1"))
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    assert ask_one(echo) == Answer("re p")
    assert proxy.requests == []


def test_a_redirect_is_not_followed(serve, says, reply):
    elsewhere = serve(lambda prompt, _: says("from elsewhere"))
    server = serve(lambda *_: reply(status=307, headers={"Location": f"{elsewhere.url}/chat/completions"}))
    with pytest.raises(ScoringError, match=r"HTTP 307 redirects to .*, which is not followed"):
        ask_one(server)
    assert elsewhere.requests == []


def test_a_timeout_is_tried_again(serve, says):
    server = serve(lambda _, before: says("late", delay=0.0 if before else 0.5))
    assert ask_one(server, timeout=0.1) == Answer("late")
    assert len(server.requests) == 2


def test_timeouts_alone_fail(serve, says):
    server = serve(lambda *_: says("late", delay=0.5))
    assert ask_one(server, timeout=0.05) == Answer("", "ReadTimeout timed out (tried 3 times)")


def test_a_dropped_connection_is_tried_again(serve, says, reply):
    server = serve(lambda _, before: says("ok") if before else reply(hang_up=True))
    assert ask_one(server) == Answer("ok")


def test_a_busy_server_is_asked_after_the_time_it_names(serve, says, reply):
    times = []

    def script(_, before):
        times.append(time.monotonic())
        return says("ok") if before else reply(status=429, headers={"Retry-After": "1"})

    assert ask_one(serve(script), longest_wait=60.0) == Answer("ok")
    assert 0.9 < times[1] - times[0] < 3


@pytest.mark.parametrize("after", ["86400", "a while", "", pytest.param(formatdate(usegmt=True), id="now")])
def test_no_wait_is_longer_than_allowed(serve, says, reply, after):
    busy = reply(status=429, headers={"Retry-After": after})
    start = time.monotonic()
    assert ask_one(serve(lambda _, before: says("ok") if before else busy)) == Answer("ok")
    assert time.monotonic() - start < 2


def test_retry_after_may_be_a_date(serve, says, reply):
    soon = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    start = time.monotonic()
    server = serve(lambda _, b: says("ok") if b else reply(status=429, headers={"Retry-After": soon}))
    assert ask_one(server, longest_wait=0.3) == Answer("ok")
    assert time.monotonic() - start > 0.25  # the wait was that of the date, cut to the longest


@pytest.mark.parametrize("status", [408, 500, 502, 503])
def test_an_error_that_passes_is_tried_again(serve, says, reply, status):
    server = serve(lambda _, before: says("ok") if before == 2 else reply(status=status))
    assert ask_one(server) == Answer("ok")
    assert len(server.requests) == 3


def test_an_error_that_stays_fails_with_the_servers_message(serve, reply, says):
    broken = reply(b'{"error": {"message": "out of memory", "type": "x"}}', status=500)
    server = serve(lambda prompt, _: broken if prompt == "p" else says("ok"))
    failed, fine = judge(server.url).answer(["p", "q"])
    assert failed == Answer("", "HTTP 500 out of memory (tried 3 times)")
    assert not failed.finished
    assert fine == Answer("ok")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"error": {"message": "too long"}}', "too long"),
        (b'{"object": "error", "message": "too long"}', "too long"),
        (b'{"detail": "too long"}', "too long"),
        (b'{"detail": [{"msg": "x", "input": "the report"}]}', ""),
        (b"<html>no", "Bad Request"),
        (b'{"error": {"message": "%s"}}' % (b"x" * 5000), "x" * 300),
    ],
)
def test_a_request_the_server_refuses_is_not_repeated(serve, reply, body, said):
    server = serve(lambda *_: reply(body, status=400))
    assert ask_one(server) == Answer("", f"HTTP 400 {said}".strip())
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_wrong_key_path_or_model_ends_the_run(serve, reply, status):
    server = serve(lambda *_: reply(b'{"error": {"message": "no such model"}}', status=status))
    with pytest.raises(ScoringError, match=rf"HTTP {status} no such model; check the endpoint's url"):
        judge(server.url, concurrency=1).answer([str(n) for n in range(50)])
    assert len(server.requests) == 1  # the others were not asked


def test_no_server_ends_the_run(serve, says):
    server = serve(lambda *_: says("ok"))
    server.shutdown()
    server.server_close()
    with pytest.raises(ScoringError, match=r"cannot be reached .*: start the server"):
        ask_one(server)


@pytest.mark.parametrize(
    ("body", "kind", "failure"),
    [
        (b'{"choices": [', "application/json", "the response is no JSON but application/json"),
        (b"\xff\xfe{}", "application/json", "the response is no JSON but application/json"),
        (b"<html>Sign in</html>", "text/html", "the response is no JSON but text/html"),
        (b"", "text/plain", "the response is no JSON but text/plain"),
        (b'{"choices": []}', "application/json", "the response has no choices"),
        (b'{"choices": null}', "application/json", "the response has no choices"),
        (b"[]", "application/json", "the response has no choices"),
        (b'{"choices": [{"text": "x"}]}', "application/json", "the response has no choices"),
    ],
)
def test_a_malformed_response_fails_its_prompt(serve, reply, says, body, kind, failure):
    malformed = reply(body, headers={"Content-Type": kind})
    server = serve(lambda prompt, _: malformed if prompt == "p" else says("ok"))
    failed, fine = judge(server.url).answer(["p", "q"])
    assert failed.text == ""
    assert failed.failure.startswith(failure)
    assert fine == Answer("ok")


@pytest.mark.parametrize("reason", ["length", "content_filter", "abort", None])
def test_half_an_answer_is_a_failure(serve, says, reason):
    found = ask_one(serve(lambda *_: says("[Matched", reason)))
    assert found == Answer("[Matched", f"the answer is cut off (finish_reason {reason!r})")


def test_an_answer_without_text_is_a_failure(serve, says):
    found = ask_one(serve(lambda *_: says(None)))
    assert found == Answer("", "the response's message has no text (finish_reason 'stop')")


@pytest.mark.parametrize(("text", "fine"), [('{"facts": []}', True), ('{"facts": [', False), ("[1]", False)])
def test_a_structured_answer_is_a_json_object(serve, says, text, fine):
    assert ask_one(serve(lambda *_: says(text)), structured={"type": "object"}).finished is fine


def test_an_answer_nested_without_end_is_no_object(serve, says):
    assert not ask_one(
        serve(lambda *_: says('{"facts":' + "[" * 100_000)), structured={"type": "object"}
    ).finished


def test_an_answer_its_asker_cannot_use_is_a_failure_and_not_kept(serve, says, tmp_path):
    def check(prompt, text):
        return None if text == f"re {prompt}" else f"{len(text)} letters"

    server = serve(lambda prompt, before: says(f"re {prompt}" if before or prompt == "q" else "what"))
    asked = judge(server.url, cache=tmp_path / "a")
    assert asked.answer(["p", "q"], check=check) == [Answer("what", "4 letters"), Answer("re q")]
    assert asked.answer(["p", "q"], check=check) == [Answer("re p"), Answer("re q")]
    assert sorted(server.prompts) == ["p", "p", "q"]


def test_a_kept_answer_its_asker_cannot_use_is_asked_for_again_and_replaced(serve, says, tmp_path):
    server = serve(lambda _, before: says("new" if before else "old"))
    asked = judge(server.url, cache=tmp_path / "a")
    assert asked.answer(["p"]) == [Answer("old")]
    assert asked.answer(["p"], check=lambda _, text: text if text == "old" else None) == [Answer("new")]
    assert asked.answer(["p"]) == [Answer("new")]
    assert len(server.requests) == 2


def test_no_more_requests_are_under_way_than_allowed(serve, says):
    server = serve(lambda *_: says("ok", delay=0.02))
    judge(server.url, concurrency=3).answer([str(n) for n in range(20)])
    assert len(server.requests) == 20
    assert server.busiest <= 3


def test_a_key_that_is_named_but_not_set_is_refused(echo, monkeypatch):
    monkeypatch.delenv("RADRL_TEST_KEY", raising=False)
    with pytest.raises(ScoringError, match=r"RADRL_TEST_KEY \(api_key_env\) is not set"):
        judge(echo.url, api_key_env="RADRL_TEST_KEY")


def test_whole_answers_are_kept_and_halves_are_asked_again(serve, says, tmp_path):
    server = serve(lambda prompt, before: says("x", "length" if prompt == "b" and not before else "stop"))
    file = tmp_path / "answers.sqlite"
    first = judge(server.url, cache=file).answer(["a", "b"])
    assert [answer.finished for answer in first] == [True, False]
    assert judge(server.url, cache=file).answer(["a", "b"]) == [Answer("x"), Answer("x")]
    assert sorted(server.prompts) == ["a", "b", "b"]


@pytest.mark.parametrize(
    "changes", [{"max_tokens": 65}, {"temperature": 0.5}, {"seed": 8}, {"extra_body": {"top_k": 1}}]
)
def test_an_answer_under_other_settings_is_another(echo, tmp_path, changes):
    for settings in ({}, changes, {}):
        judge(echo.url, cache=tmp_path / "a", **settings).answer(["p"])
    EndpointJudge(echo.url, "n", **SETTINGS, cache=tmp_path / "a").answer(["p"])
    assert len(echo.requests) == 3


def test_the_cache_holds_no_prompt(echo, tmp_path):
    judge(echo.url, cache=tmp_path / "a").answer(["MRS SMITH"])
    # the echo is the answer; the prompt's own words stand there once and no more
    assert (tmp_path / "a").read_bytes().count(b"MRS SMITH") == 1


def test_answers_had_before_the_run_ended_are_kept(serve, says, reply, tmp_path):
    server = serve(lambda prompt, before: reply(status=401) if prompt == "3" and not before else says("ok"))
    prompts = [str(n) for n in range(6)]
    with pytest.raises(ScoringError, match="HTTP 401"):
        judge(server.url, concurrency=1, cache=tmp_path / "a").answer(prompts)
    answers = judge(server.url, concurrency=1, cache=tmp_path / "a").answer(prompts)
    assert answers == [Answer("ok")] * 6
    assert server.prompts.count("0") == server.prompts.count("2") == 1


RUN = """
import sys
from pathlib import Path
from radrl.scoring.judge.endpoint import EndpointJudge
settings = {"retries": 0, "timeout": 60, "max_tokens": 64, "temperature": 0.0, "seed": 7}
judge = EndpointJudge(
    sys.argv[1], "m", allowed_hosts=["127.0.0.1"], concurrency=2, cache=Path(sys.argv[2]), **settings
)
judge.answer([str(n) for n in range(100)])
"""


def test_a_run_that_was_killed_goes_on_where_it_was(serve, says, tmp_path):
    server = serve(lambda *_: says("ok", delay=0.02))
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, server.url, str(tmp_path / "a")], stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + 30
    while len(server.requests) < 20 and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    before = len(server.requests)
    assert 20 <= before < 100
    answers = judge(server.url, cache=tmp_path / "a").answer([str(n) for n in range(100)])
    assert answers == [Answer("ok")] * 100
    assert len(server.requests) - 100 <= 2  # asked twice: what was under way
