// exa-sse-reader: many streams of exa-mock-upstream through whatever stands in front of it, and how late their events
// are.
//
// usage: exa-sse-reader PORT STREAMS SECONDS MODEL [FIELD]...
//
// Keeps STREAMS requests under way, each on its own kept-alive connection with its own session, for SECONDS, and prints
// one JSON object: events, streams, reads (recv calls that gave something), and the age of events in microseconds, p50
// and p99. Counting begins after a fifth of the time.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

std::int64_t now_ns() {
    return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

struct Stream {
    int fd = -1;
    std::string request;
    std::string text;  // the line that is not complete yet
};

class Reader {
  public:
    // `fields` are lines of every request's head, each with its end.
    Reader(std::uint16_t port, int streams, int seconds, const std::string& model, const std::string& fields)
        : port_(port), streams_(static_cast<std::size_t>(streams)), seconds_(seconds) {
        const std::string body = R"({"model":")" + model +
                                 R"(","stream":true,"messages":[{"role":"user","content":"Tell me about rings."}]})";
        for (std::size_t i = 0; i < streams_.size(); ++i)
            streams_[i].request =
                "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n" + fields +
                "X-Session-Id: session-" + std::to_string(i) + "\r\nContent-Length: " + std::to_string(body.size()) +
                "\r\n\r\n" + body;
    }

    bool run() {
        for (Stream& stream : streams_)
            if (!connect(stream)) return false;
        const std::int64_t begin = now_ns();
        const std::int64_t count_from = begin + std::int64_t{seconds_} * 200'000'000;
        const std::int64_t end = begin + std::int64_t{seconds_} * 1'000'000'000;
        // Begun one after another over a quarter of a second, so that events of streams do not come in step.
        std::size_t begun = 0;
        std::array<epoll_event, 256> ready{};
        while (now_ns() < end) {
            while (begun < streams_.size() && now_ns() - begin >= static_cast<std::int64_t>(begun) * 250'000'000 /
                                                                      static_cast<std::int64_t>(streams_.size()))
                ask(streams_[begun++]);
            const int count = epoll_wait(epoll_, ready.data(), ready.size(), begun < streams_.size() ? 1 : 100);
            counting_ = now_ns() >= count_from;
            for (int i = 0; i < count; ++i)
                if (!read(*static_cast<Stream*>(ready[static_cast<std::size_t>(i)].data.ptr))) return false;
        }
        print();
        return true;
    }

  private:
    bool connect(Stream& stream) const {
        stream.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port_);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (::connect(stream.fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return false;
        const int on = 1;
        setsockopt(stream.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.ptr = &stream;
        return epoll_ctl(epoll_, EPOLL_CTL_ADD, stream.fd, &event) == 0;
    }

    static void ask(const Stream& stream) {
        if (send(stream.fd, stream.request.data(), stream.request.size(), MSG_NOSIGNAL) < 0) std::perror("send");
    }

    // False when the other side has closed.
    bool read(Stream& stream) {
        const ssize_t got = recv(stream.fd, chunk_.data(), chunk_.size(), MSG_DONTWAIT);
        if (got <= 0) return got < 0;
        reads_ += counting_;
        const std::int64_t now = now_ns();
        stream.text.append(chunk_.data(), static_cast<std::size_t>(got));
        std::size_t from = 0;
        for (std::size_t line = 0; (line = stream.text.find('\n', from)) != std::string::npos; from = line + 1)
            take(stream, std::string_view(stream.text).substr(from, line - from), now);
        stream.text.erase(0, from);
        return true;
    }

    void take(const Stream& stream, std::string_view line, std::int64_t now) {
        if (line == "data: [DONE]") {
            finished_ += counting_;
            ask(stream);
            return;
        }
        constexpr std::string_view mark = R"("content":"t)";
        const std::size_t at = line.find(mark);
        if (!line.starts_with("data: ") || at == line.npos || !counting_) return;
        std::int64_t sent = 0;
        std::from_chars(line.data() + at + mark.size(), line.data() + line.size(), sent);
        ages_.push_back(static_cast<std::uint32_t>(std::clamp<std::int64_t>((now - sent) / 1000, 0, 10'000'000)));
    }

    void print() {
        std::ranges::sort(ages_);
        const auto at = [&](std::size_t percent) {
            return ages_.empty() ? 0U : ages_[(ages_.size() - 1) * percent / 100];
        };
        std::printf(R"({"events":%zu,"streams":%zu,"reads":%zu,"age_p50_us":%u,"age_p99_us":%u,"seconds":%g})"
                    "\n",
                    ages_.size(), finished_, reads_, at(50), at(99), seconds_ * 0.8);
    }

    const std::uint16_t port_;
    std::vector<Stream> streams_;
    const int seconds_;
    const int epoll_ = epoll_create1(EPOLL_CLOEXEC);
    std::array<char, 64 * 1024> chunk_{};
    std::vector<std::uint32_t> ages_;
    std::size_t reads_ = 0;
    std::size_t finished_ = 0;
    bool counting_ = false;
};

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    if (arguments.size() < 4) {
        std::fprintf(stderr, "usage: exa-sse-reader PORT STREAMS SECONDS MODEL [FIELD]...\n");
        return 2;
    }
    std::string fields;
    for (std::size_t i = 4; i < arguments.size(); ++i) fields += arguments[i] + "\r\n";
    Reader reader(static_cast<std::uint16_t>(std::atoi(arguments[0].c_str())), std::atoi(arguments[1].c_str()),
                  std::atoi(arguments[2].c_str()), arguments[3], fields);
    if (reader.run()) return 0;
    std::fprintf(stderr, "exa-sse-reader: a connection failed or was closed\n");
    return 1;
}
