"""An OpenAI-compatible server that misbehaves as it is told, for tests of attached servers."""

import json
import socket
import struct
import threading
import time

EVENT = 'data: {"id":"x","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"%s"}}]}\n\n'


class AttachServer:
    """One model, "mock". What a request's last message says is what becomes of it; see `answer`. A thread a connection.

    `requests` are the (head, body) of all POSTs so far."""

    def __init__(self, port: int = 0):
        self.healthy = True
        self.requests: list[tuple[str, bytes]] = []
        self.gone = threading.Event()  # a client left an answer that never ends
        self.listener: socket.socket | None = None
        self.port = port
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> "AttachServer":
        return self

    def __exit__(self, *_) -> None:
        self.stop()

    def start(self) -> None:
        self.connections: list[socket.socket] = []
        self.listener = socket.create_server(("127.0.0.1", self.port))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()

    def stop(self) -> None:
        """As a process that is killed: nobody listens, connections are cut."""
        if self.listener is None:
            return
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.listener = None
        for connection in self.connections:
            self.reset(connection)

    def accept(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            self.connections.append(connection)
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection: socket.socket) -> None:
        stream = connection.makefile("rb")
        try:
            while line := stream.readline():
                head = line
                while (line := stream.readline()).strip():
                    head += line
                fields = dict(field.split(": ", 1) for field in head.decode().splitlines()[1:])
                body = stream.read(int(fields.get("content-length", 0)))
                if head.startswith(b"GET"):
                    self.look(connection, head.split()[1].decode())
                    continue
                self.requests.append((head.decode(), body))
                try:
                    request = json.loads(body)
                except ValueError:
                    self.reply(connection, 400, "not JSON, says the server")
                    continue
                self.answer(connection, request)
        except (OSError, ValueError):
            pass
        finally:
            connection.close()

    def look(self, connection: socket.socket, path: str) -> None:
        if path == "/v1/models":
            self.reply(connection, 200, json.dumps({"object": "list", "data": [{"id": "mock", "object": "model"}]}))
        else:
            self.reply(connection, 200 if self.healthy else 503, "")

    def answer(self, connection: socket.socket, request: dict) -> None:
        what = request["messages"][-1]["content"]
        if what == "whole":
            self.reply(connection, 200, json.dumps({"object": "chat.completion", "choices": [], "unknown": [1.0, None]}))
        elif what == "large":
            self.reply(connection, 200, json.dumps({"object": "chat.completion", "text": "x" * 1_000_000}))
        elif what.startswith("status "):
            self.reply(connection, int(what.split()[1]), '{"error":{"message":"so says the server"}}', "retry-after: 9\r\n")
        elif what == "once then close":
            self.reply(connection, 200, "{}")
            connection.shutdown(socket.SHUT_RDWR)
        elif what == "cut head":
            self.reset(connection)
        elif what == "cut whole":
            connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2000000\r\n\r\n"
                               + b"x" * 1_000_000)
            time.sleep(0.1)
            connection.shutdown(socket.SHUT_RDWR)
        elif what.startswith("stream"):
            self.stream(connection, what)

    def stream(self, connection: socket.socket, what: str) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        try:
            for number in range(10**9 if what == "stream for good" else 5):
                self.chunk(connection, EVENT % f"word {number} ")
                time.sleep(0.02)
        except OSError:
            self.gone.set()
            raise
        if what == "stream cut":
            self.chunk(connection, (EVENT % "half")[:20])
            time.sleep(0.05)
            self.reset(connection)
            return
        self.chunk(connection, "data: [DONE]\n\n")
        connection.sendall(b"0\r\n\r\n")

    @staticmethod
    def chunk(connection: socket.socket, text: str) -> None:
        connection.sendall(b"%x\r\n%s\r\n" % (len(text), text.encode()))

    @staticmethod
    def reply(connection: socket.socket, status: int, body: str, fields: str = "") -> None:
        connection.sendall((f"HTTP/1.1 {status} Said So\r\ncontent-type: application/json\r\n{fields}"
                            f"content-length: {len(body)}\r\n\r\n{body}").encode())

    @staticmethod
    def reset(connection: socket.socket) -> None:
        try:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.shutdown(socket.SHUT_RD)
        except OSError:
            pass
        connection.close()
