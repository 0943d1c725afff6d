"""A greedy conversation, and how much of its prompts came from a cache."""

import json

from bench.cluster import post_json

LONG_STORY = " ".join(f"Chapter {n} tells of the river, the mill and the {n} people who live there." for n in range(40))


def question(number: int) -> str:
    return f"What happens in chapter {number}?"


class Chat:
    def __init__(self, model: str, session: str | None = None):
        self.model = model
        self.session = session
        self.messages = [{"role": "system", "content": LONG_STORY}]
        self.usages = []
        self.replica = None  # that answered last

    def ask(self, peer, text: str) -> str:
        self.messages.append({"role": "user", "content": text})
        body = {"model": self.model, "messages": self.messages, "temperature": 0, "max_tokens": 20}
        if self.session:
            body["prompt_cache_key"] = self.session
        status, headers, reply = post_json(peer.url + "/v1/chat/completions", body)
        assert status == 200, reply
        self.replica = headers["x-exaserve-replica"]
        reply = json.loads(reply)
        self.usages.append(reply["usage"])
        answer = reply["choices"][0]["message"]["content"]
        self.messages.append({"role": "assistant", "content": answer})
        return answer

    @property
    def cached_share(self) -> float:
        return self.usages[-1]["prompt_tokens_details"]["cached_tokens"] / self.usages[-1]["prompt_tokens"]
