// exa-mock-upstream: an OpenAI-compatible server that computes nothing, as cheap as one thread allows, for comparing
// what stands in front of it.
//
// usage: exa-mock-upstream --port N [--port N]... [--bytes N] [--events N] [--interval-us N] [--model NAME]
//
// A POST whose body has "stream":true gets --events events, one every --interval-us (0: all at once), each of which
// says when it was sent (steady clock, nanoseconds) as "t<digits>"; any other POST gets a JSON body of --bytes bytes.
// GET /health and /v1/models answer as a server with one model does. SIGTERM ends it.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

struct Options {
    std::vector<std::uint16_t> ports;
    std::size_t bytes = 200;
    std::uint32_t events = 64;
    std::uint32_t interval_us = 20'000;
    std::string model = "mock";
};

std::int64_t now_ns() {
    return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

std::string whole_answer(std::string_view body) {
    return "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: " + std::to_string(body.size()) +
           "\r\n\r\n" + std::string(body);
}

// A chat completion of exactly that size, if it is not too small.
std::string padded_body(std::size_t bytes) {
    std::string body = R"({"id":"c","object":"chat.completion","created":1,"model":"mock",)"
                       R"("choices":[{"index":0,"message":{"role":"assistant","content":")";
    const std::string_view end = R"("},"finish_reason":"stop"}]})";
    body.append(bytes - std::min(bytes, body.size() + end.size()), 'x').append(end);
    return body;
}

struct Connection {
    int fd = -1;
    std::string in;
    std::string out;           // what the socket did not take
    std::uint32_t events = 0;  // of the stream that runs: still to come
};

class Server {
  public:
    explicit Server(Options options)
        : options_(std::move(options)),
          whole_(whole_answer(padded_body(options_.bytes))),
          models_(whole_answer(R"({"object":"list","data":[{"id":")" + options_.model + R"(","object":"model"}]})")) {}

    // False when a port cannot be had.
    bool listen() {
        return std::ranges::all_of(options_.ports, [this](std::uint16_t port) { return listen(port); });
    }

    [[noreturn]] void run() {
        std::array<epoll_event, 256> ready{};
        while (true) {
            const auto wait = until_due();
            const int count = epoll_pwait2(epoll_, ready.data(), ready.size(), wait ? &*wait : nullptr, nullptr);
            for (int i = 0; i < count; ++i) {
                auto* const connection = static_cast<Connection*>(ready[static_cast<std::size_t>(i)].data.ptr);
                if (connection == nullptr)
                    accept_all();
                else if (!serve(*connection))
                    drop(*connection);
            }
            send_due();
        }
    }

  private:
    bool listen(std::uint16_t port) {
        const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        const int on = 1;
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || ::listen(fd, 1024) != 0)
            return false;
        listeners_.push_back(fd);
        watch(fd, nullptr);
        return true;
    }

    // To the nanosecond: in whole milliseconds events of many streams would leave in bunches. Nothing: for good.
    std::optional<timespec> until_due() const {
        if (due_.empty()) return std::nullopt;
        const std::int64_t left = std::max<std::int64_t>(due_.begin()->first - now_ns(), 0);
        return timespec{left / 1'000'000'000, left % 1'000'000'000};
    }

    void watch(int fd, Connection* connection) const {
        epoll_event event{};
        event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
        event.data.ptr = connection;
        epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
    }

    void accept_all() {
        for (const int listener : listeners_) accept_all(listener);
    }

    void accept_all(int listener) {
        while (true) {
            const int fd = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
            if (fd < 0) return;
            const int on = 1;
            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
            auto connection = std::make_unique<Connection>();
            connection->fd = fd;
            watch(fd, connection.get());
            connections_.emplace(connection.get(), std::move(connection));
        }
    }

    void drop(Connection& connection) {
        std::erase_if(due_, [&](const auto& one) { return one.second == &connection; });
        close(connection.fd);
        connections_.erase(&connection);
    }

    // False when the connection is over.
    bool serve(Connection& connection) {
        if (!flush(connection)) return false;
        while (true) {
            const ssize_t got = recv(connection.fd, chunk_.data(), chunk_.size(), 0);
            if (got == 0) return false;
            if (got < 0) {
                if (errno != EAGAIN) return false;
                break;
            }
            connection.in.append(chunk_.data(), static_cast<std::size_t>(got));
            if (!answer_all(connection)) return false;
            if (static_cast<std::size_t>(got) < chunk_.size()) break;
        }
        return true;
    }

    bool answer_all(Connection& connection) {
        while (connection.events == 0) {
            const std::string_view in = connection.in;
            const std::size_t head_end = in.find("\r\n\r\n");
            if (head_end == in.npos) return true;
            const std::string_view head = in.substr(0, head_end + 2);
            const std::size_t length = content_length(head);
            const std::size_t size = head_end + 4 + length;
            if (in.size() < size) return true;
            const std::string_view body = in.substr(head_end + 4, length);
            const bool is_get = in.starts_with("GET");
            const bool streams = !is_get && body.find("\"stream\":true") != body.npos;
            const bool models = is_get && in.starts_with("GET /v1/models");
            connection.in.erase(0, size);
            if (streams ? !start_stream(connection) : !send(connection, models ? models_ : whole_)) return false;
        }
        return true;
    }

    static std::size_t content_length(std::string_view head) {
        for (const std::string_view name : {"\r\ncontent-length: ", "\r\nContent-Length: "}) {
            const std::size_t at = head.find(name);
            std::size_t value = 0;
            if (at == head.npos) continue;
            std::from_chars(head.data() + at + name.size(), head.data() + head.size(), value);
            return value;
        }
        return 0;
    }

    bool start_stream(Connection& connection) {
        connection.events = options_.events;
        if (!send(connection,
                  "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"))
            return false;
        if (options_.interval_us > 0) {
            due_.emplace(now_ns() + interval_ns(), &connection);
            return true;
        }
        while (connection.events > 0)
            if (!send_event(connection)) return false;
        return true;
    }

    std::int64_t interval_ns() const { return std::int64_t{options_.interval_us} * 1000; }

    bool send_event(Connection& connection) {
        std::string event = R"(data: {"id":"chatcmpl-mock","object":"chat.completion.chunk","created":1700000000,)"
                            R"("model":"mock","choices":[{"index":0,"delta":{"content":"t)" +
                            std::to_string(now_ns()) +
                            R"("},"finish_reason":null}]})"
                            "\n\n";
        const bool last = --connection.events == 0;
        if (last) event += "data: [DONE]\n\n";
        std::array<char, 16> size{};
        std::snprintf(size.data(), size.size(), "%zx\r\n", event.size());
        event.insert(0, size.data());
        event += last ? "\r\n0\r\n\r\n" : "\r\n";
        return send(connection, event) && (!last || answer_all(connection));
    }

    void send_due() {
        while (!due_.empty() && due_.begin()->first <= now_ns()) {
            const auto [time, connection] = *due_.begin();
            due_.erase(due_.begin());
            if (!send_event(*connection))
                drop(*connection);
            else if (connection->events > 0 && connections_.contains(connection))
                due_.emplace(time + interval_ns(), connection);
        }
    }

    static bool send(Connection& connection, std::string_view bytes) {
        if (connection.out.empty()) {
            const ssize_t sent = ::send(connection.fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (sent < 0 && errno != EAGAIN) return false;
            bytes.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(sent, 0)));
        }
        connection.out += bytes;
        return true;
    }

    static bool flush(Connection& connection) {
        if (connection.out.empty()) return true;
        const std::string out = std::exchange(connection.out, {});
        return send(connection, out);
    }

    const Options options_;
    const std::string whole_;
    const std::string models_;
    const int epoll_ = epoll_create1(EPOLL_CLOEXEC);
    std::vector<int> listeners_;
    std::map<Connection*, std::unique_ptr<Connection>> connections_;
    std::multimap<std::int64_t, Connection*> due_;  // streams by the time of their next event
    std::array<char, 64 * 1024> chunk_{};
};

bool set(Options& options, std::string_view name, std::string_view value) {
    if (name == "--model") {
        options.model = value;
        return true;
    }
    std::uint32_t number = 0;
    const auto [end, code] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (code != std::errc{} || end != value.data() + value.size()) return false;
    if (name == "--port")
        options.ports.push_back(static_cast<std::uint16_t>(number));
    else if (name == "--bytes")
        options.bytes = number;
    else if (name == "--events")
        options.events = std::max(number, 1U);
    else if (name == "--interval-us")
        options.interval_us = number;
    else
        return false;
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    const std::vector<std::string_view> arguments(argv + 1, argv + argc);
    for (std::size_t i = 0; i < arguments.size(); i += 2) {
        if (i + 1 == arguments.size() || !set(options, arguments[i], arguments[i + 1])) {
            std::fprintf(stderr, "exa-mock-upstream: see the head of tools/bench/mock/main.cc\n");
            return 2;
        }
    }
    Server server(std::move(options));
    if (!server.listen()) {
        std::perror("exa-mock-upstream: listen");
        return 1;
    }
    server.run();
}
