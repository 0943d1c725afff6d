// What an entry pays to find its way in a body: scan() against building the parsed value, in nanoseconds of the
// processor a body. Rounds of the two alternate, the medians of their rounds are compared. Prints one JSON object.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "openai/json.h"
#include "openai/scan.h"

namespace {

using namespace exa;

constexpr std::size_t rounds = 15;
constexpr std::size_t round_bytes = 8u << 20;

double thread_cpu_ns() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

std::string repeated(std::string_view text, std::size_t bytes) {
    std::string out;
    while (out.size() < bytes) out += text;
    return out;
}

std::string chat(const std::string& messages) {
    return R"({"model":"small-model","stream":true,"temperature":0.7,"max_tokens":64,"user":"u-1","messages":[)" +
           messages + "]}";
}

std::string message(const std::string& content) {
    return R"({"role":"user","content":")" + content + "\"}";
}

template <class Once>
double round_ns(const std::string& body, Once once) {
    const std::size_t times = round_bytes / body.size();
    const double begin = thread_cpu_ns();
    for (std::size_t i = 0; i < times; ++i) EXA_CHECK(once());
    return (thread_cpu_ns() - begin) / static_cast<double>(times);
}

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

}  // namespace

int main() {
    const std::string text = repeated("The quick brown fox jumps over the lazy dog. ", 16384);
    std::string turns;
    for (int i = 0; i < 64; ++i) turns += (i > 0 ? "," : "") + message(text.substr(0, 200));
    const std::pair<std::string_view, std::string> bodies[] = {
        {"200 B", chat(message("Tell me a story about a fox and a dog, in two sentences."))},
        {"16 KiB, one message", chat(message(text))},
        {"16 KiB, 64 messages", chat(turns)},
        {"16 KiB, two-byte letters", chat(message(repeated("\xC3\xA9\xC3\xA8 ", 16384)))},
        {"16 KiB, a line break every 45 bytes",
         chat(message(repeated("The quick brown fox jumps over the lazy\\n", 16384)))},
    };
    std::string out;
    for (const auto& [name, body] : bodies) {
        std::vector<double> scans;
        std::vector<double> parses;
        for (std::size_t i = 0; i < rounds; ++i) {
            scans.push_back(round_ns(body, [&] { return openai::scan(body).has_value(); }));
            parses.push_back(round_ns(body, [&] { return openai::parse_object(body, body.size()).has_value(); }));
        }
        const double spread = *std::ranges::max_element(scans) / *std::ranges::min_element(scans);
        out +=
            fmt::format(R"({}{{"body":"{}","bytes":{},"ours":{:.0f},"theirs":{:.0f},"ratio":{:.2f},"spread":{:.2f}}})",
                        out.empty() ? "" : ",", name, body.size(), median(scans), median(parses),
                        median(parses) / median(scans), spread);
    }
    std::puts(fmt::format(R"({{"name":"scan","unit":"ns a body","results":[{}]}})", out).c_str());
}
