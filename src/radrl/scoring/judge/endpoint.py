"""The judge `endpoint`, an OpenAI-compatible endpoint: vLLM, llama.cpp, Ollama or a hosted one.

Prompts hold patient text, so this client sends them to hosts that a parameter names and to no other: it
follows no redirect, and it ignores the environment's proxies, netrc and keys. Those rules are the reason to
speak the protocol over httpx2, which is here anyway for huggingface_hub, and not through the `openai`
package, which reads ``OPENAI_*`` on its own, follows redirects and fixes its waits.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from radrl.parts.section import takes
from radrl.scoring import ScoringError
from radrl.scoring.judge import (
    Answer,
    AnswerCache,
    Check,
    EndpointSection,
    Judge,
    Keep,
    answer_through_cache,
    cache_key,
)
from radrl.storage import json_files

if TYPE_CHECKING:
    import httpx2  # which takes a while, and settings are checked without

_PASSING_STATUS: Final = frozenset({408, 429})  # and every 5xx
_HOPELESS_STATUS: Final = frozenset({401, 403, 404, 405})
"""Wrong key, path or model: the next prompt would fare no better."""
_MESSAGE_LENGTH: Final = 300


@takes(EndpointSection)
def endpoint(
    structured: Mapping[str, Any] | None = None, *, cache: str | Path | None = None, **settings: Any
) -> Judge:
    """A server that speaks OpenAI's protocol.

    Args:
        structured: JSON schema of the answers.
        cache: file of answers.
        **settings: further arguments of `radrl.scoring.judge.endpoint.EndpointJudge`.
    """
    kept = None if cache is None else Path(cache)
    return EndpointJudge(structured=structured, cache=kept, **settings)


class EndpointJudge:
    """Asks a server for chat completions, several at a time.

    What passes (a timeout, a dropped connection, 408, 429, 5xx) is tried again after ``Retry-After``, or
    after `backoff` seconds doubled at each try. What is wrong with one prompt (another 4xx, a malformed
    response, an answer cut off) is that prompt's failure; what is wrong with the server (no connection, 401,
    403, 404, 405, a redirect) ends the run. Answers had until then are in the cache.

    The cache knows a model by the name the server gives it: use another file when a name gets other weights.

    Args:
        url: base of the API, such as ``http://localhost:8000/v1``.
        model: its name on the server.
        allowed_hosts: host names that prompts may go to; that of `url` must be among them.
        api_key_env: name of the environment variable that holds the API key; nothing when there is none.
        concurrency: requests under way at a time.
        retries: further tries after the first.
        timeout: seconds of silence until a try is given up; a server is silent while it writes an answer.
        max_tokens: an answer may have; one that needs more is cut off, and fails.
        temperature: 0 is greedy.
        seed: of the server's draws; nothing to send none.
        structured: JSON schema of the answer, which must then be a JSON object.
        extra_body: further fields of every request, such as vLLM's ``{"add_special_tokens": true}``.
        backoff: seconds before the second try.
        longest_wait: seconds between two tries, whatever ``Retry-After`` asks for.
        cache: file of `AnswerCache`; nothing to keep no answers.

    Raises:
        ScoringError: when the host is not allowed, before anything is sent; when the URL is none; when the
            variable of the key is not set; when the cache cannot be used.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        allowed_hosts: Sequence[str],
        concurrency: int,
        retries: int,
        timeout: float,
        max_tokens: int,
        temperature: float,
        seed: int | None,
        api_key_env: str | None = None,
        structured: Mapping[str, Any] | None = None,
        extra_body: Mapping[str, Any] | None = None,
        backoff: float = 1.0,
        longest_wait: float = 60.0,
        cache: Path | None = None,
    ) -> None:
        self._url = f"{str(allowed(url, allowed_hosts)).rstrip('/')}/chat/completions"
        self._headers = _headers(api_key_env)
        self._concurrency, self._retries, self._timeout = concurrency, retries, timeout
        self._backoff, self._longest_wait = backoff, longest_wait
        self._structured = structured is not None
        self._settings: dict[str, Any] = {
            "model": model,
            "max_tokens": max_tokens,
            "temperature": temperature,
        }
        if seed is not None:
            self._settings["seed"] = seed
        if structured is not None:
            schema = {"name": "answer", "schema": dict(structured), "strict": True}
            self._settings["response_format"] = {"type": "json_schema", "json_schema": schema}
        self._settings |= extra_body or {}
        self._cache = None if cache is None else AnswerCache(cache)
        self.name = f"endpoint:{model}"
        self.about = {"judge": "endpoint"} | {
            name: value if isinstance(value, str) else json.dumps(value, sort_keys=True)
            for name, value in self._settings.items()
        }

    def answer(self, prompts: Sequence[str], *, check: Check | None = None) -> list[Answer]:
        """See `radrl.scoring.judge.Judge`."""
        return answer_through_cache(
            prompts,
            key=lambda prompt: cache_key({"judge": "endpoint", "body": self._body(prompt)}),
            cache=self._cache,
            ask=self._ask,
            name=self.name,
            check=check,
        )

    def _body(self, prompt: str) -> dict[str, Any]:
        return self._settings | {"messages": [{"role": "user", "content": prompt}]}

    def _ask(self, prompts: Sequence[str], keep: Keep) -> Iterator[tuple[str, Answer]]:
        import httpx2

        stop = threading.Event()

        def ask_one(prompt: str) -> Answer:
            try:
                return keep(prompt, self._ask_one(client, prompt, stop))
            except BaseException:
                stop.set()  # here, since the thread that collects may wake after this one has asked again
                raise

        with (
            httpx2.Client(
                headers=self._headers,
                timeout=self._timeout,
                follow_redirects=False,
                trust_env=False,
                limits=httpx2.Limits(max_connections=self._concurrency),
            ) as client,
            ThreadPoolExecutor(self._concurrency) as pool,
        ):
            asked = {pool.submit(ask_one, prompt): prompt for prompt in prompts}
            try:
                for future in as_completed(asked):
                    yield asked[future], future.result()
            finally:  # after an error only the requests under way are waited for
                stop.set()
                pool.shutdown(cancel_futures=True)

    def _ask_one(self, client: httpx2.Client, prompt: str, stop: threading.Event) -> Answer:
        import httpx2

        passing = (httpx2.TimeoutException, httpx2.NetworkError, httpx2.RemoteProtocolError)
        problem, wait, unreachable = "", 0.0, False
        for attempt in range(1 + self._retries):
            stop.wait(min(wait, self._longest_wait))
            if stop.is_set():
                return Answer("", "the run ended before it was asked")
            wait = self._backoff * 2**attempt
            try:
                response = client.post(self._url, content=json.dumps(self._body(prompt)))
            except passing as error:
                problem, unreachable = _name(error), isinstance(error, httpx2.ConnectError)
            except httpx2.HTTPError as error:
                return Answer("", _name(error))
            else:
                if not (response.is_server_error or response.status_code in _PASSING_STATUS):
                    return self._read(response)
                problem, unreachable = _status(response), False
                wait = _retry_after(response, wait)
        if unreachable:
            raise ScoringError(
                f"{self._url} cannot be reached ({problem}): start the server, or mend the url"
            )
        return Answer("", f"{problem} (tried {1 + self._retries} times)")

    def _read(self, response: httpx2.Response) -> Answer:
        if response.is_redirect or response.status_code in _HOPELESS_STATUS:
            raise ScoringError(f"{self._url}: {_status(response)}; check the endpoint's url, model and key")
        if not response.is_success:
            return Answer("", _status(response))
        try:
            choice = response.json()["choices"][0]
            text, reason = choice["message"]["content"], choice["finish_reason"]
        except ValueError:
            return Answer(
                "", f"the response is no JSON but {response.headers.get('content-type', 'of no type')}"
            )
        except (LookupError, TypeError):
            return Answer("", "the response has no choices[0] with message.content and finish_reason")
        if not isinstance(text, str):
            return Answer("", f"the response's message has no text (finish_reason {reason!r})")
        if reason != "stop":
            return Answer(text, f"the answer is cut off (finish_reason {reason!r})")
        if self._structured and not _is_object(text):
            return Answer(text, "the answer is no JSON object, which the schema asks for")
        return Answer(text)


def allowed(url: str, allowed_hosts: Sequence[str]) -> httpx2.URL:
    """The base of an API, if prompts may go there.

    Args:
        url: such as ``http://localhost:8000/v1``.
        allowed_hosts: host names that prompts may go to.

    Returns:
        The address taken apart.

    Raises:
        ScoringError: it is none, or its host is not allowed.
    """
    import httpx2

    try:
        parsed = httpx2.URL(url)  # the parser that will also connect: two parsers can see two hosts
    except httpx2.InvalidURL as error:
        raise ScoringError(f"the endpoint's url is none: {error}") from error
    if parsed.scheme not in ("http", "https") or not parsed.host or parsed.userinfo or parsed.query:
        # the url itself stays out of the message, because a password may stand in it
        raise ScoringError(
            "the endpoint's url must be an API's base such as http://localhost:8000/v1, without user or query"
        )
    if parsed.host not in {host.lower() for host in allowed_hosts}:
        raise ScoringError(
            f"nothing was sent: host {parsed.host!r} is not in allowed_hosts {list(allowed_hosts)}; "
            "reports are patient data, so name the host there if they may go to it"
        )
    return parsed


def api_key(variable: str) -> str:
    """An API's key.

    Args:
        variable: name of the environment variable that holds it.

    Raises:
        ScoringError: it is not set.
    """
    if not (key := os.environ.get(variable, "").strip()):
        raise ScoringError(f"environment variable {variable} (api_key_env) is not set: it holds the API key")
    return key


def _headers(api_key_env: str | None) -> dict[str, str]:
    json_type = {"Content-Type": "application/json"}
    return (
        json_type if api_key_env is None else json_type | {"Authorization": f"Bearer {api_key(api_key_env)}"}
    )


def _name(error: httpx2.HTTPError) -> str:
    return f"{type(error).__name__} {error}".strip()


def _status(response: httpx2.Response) -> str:
    """The status and what the server says about it, cut short: some servers quote the request."""
    if response.is_redirect:
        said = f"redirects to {response.headers.get('location', '?')}, which is not followed"
    else:
        try:
            said = _message(response.json())
        except ValueError:
            said = response.reason_phrase
    return f"HTTP {response.status_code} {said[:_MESSAGE_LENGTH]}".strip()


def _message(body: Any) -> str:
    for field in ("error", "message", "detail"):
        if isinstance(body, dict) and field in body:
            return _message(body[field])
    return body if isinstance(body, str) else ""


def _retry_after(response: httpx2.Response, otherwise: float) -> float:
    """Seconds the server asks to wait, as a number or until a date."""
    value = response.headers.get("retry-after", "").strip()
    try:
        if value.isdecimal():
            return float(value)
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return otherwise


def _is_object(text: str) -> bool:
    try:
        return isinstance(json_files.parsed(text), dict)
    except json_files.NoJson:
        return False
