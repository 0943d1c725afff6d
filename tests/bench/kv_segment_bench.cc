// What one segment of the default model's KV (64 tokens, 30 layers, 3 heads of 64) costs on its way out of a replica
// and back: copied out of the pages, sealed, verified, copied in. Microseconds of the processor each, every step on
// memory that it meets in production: pages that others have used since, a fresh buffer. Prints one JSON object.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <deque>
#include <memory>
#include <numeric>
#include <vector>

#include "base/check.h"
#include "io/crypto/openssl_crypto.h"
#include "kernels/kv_copy.h"
#include "kv/segment.h"

namespace {

using namespace exa;

constexpr std::size_t rounds = 41;
constexpr kernels::AttentionShape shape{.heads = 9, .kv_heads = 3, .head_dim = 64};
constexpr std::size_t layers = 30;
constexpr std::size_t tokens = 64;
constexpr std::size_t pages = 1024;

double thread_cpu_us() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

template <class Step>
void add(std::vector<double>& times, Step step) {
    const double begin = thread_cpu_us();
    step();
    times.push_back(thread_cpu_us() - begin);
}

std::string spread(std::vector<double> times) {
    std::ranges::sort(times);
    return fmt::format("[{:.0f},{:.0f},{:.0f}]", times.front(), times[times.size() / 2], times.back());
}

}  // namespace

int main() {
    const io::crypto::OpenSslCrypto crypto;
    const kv::SegmentSealer sealer(crypto, Bytes(32, 1));
    const std::size_t stride = layers * shape.layer_halves();
    std::vector<std::uint16_t> memory(pages * stride);
    std::iota(memory.begin(), memory.end(), std::uint16_t{0});
    const std::size_t bytes = kernels::segment_halves(shape, layers, tokens) * sizeof(std::uint16_t);
    std::vector<double> out;
    std::vector<double> seal;
    std::vector<double> verify;
    std::vector<double> in;
    std::deque<std::shared_ptr<kv::SegmentBuffer>> kept;
    for (std::size_t round = 0; round < rounds; ++round) {
        std::vector<std::uint32_t> from;
        std::vector<std::uint32_t> to;
        for (std::size_t page = 0; page < tokens / kernels::page_tokens; ++page) {
            from.push_back(static_cast<std::uint32_t>((round * 37 + page * 211) % pages));
            to.push_back(static_cast<std::uint32_t>((round * 41 + page * 307 + 5) % pages));
        }
        std::shared_ptr<kv::SegmentBuffer> buffer;
        const auto halves = [&] {
            return reinterpret_cast<std::uint16_t*>(buffer->bytes().data() + kv::segment_header_size);
        };
        add(out, [&] {
            buffer = std::make_shared<kv::SegmentBuffer>(kv::segment_header_size + bytes);
            kernels::gather_kv(shape, layers, {memory.data(), stride, from.data()}, 0, tokens, halves());
        });
        kv::SegmentHead head;
        head.key.bytes[0] = static_cast<std::uint8_t>(round);
        head.tokens = tokens;
        add(seal, [&] { sealer.seal(head, *buffer); });
        add(verify, [&] { EXA_CHECK(sealer.verify(head.key, buffer->view()).has_value()); });
        add(in,
            [&] { kernels::scatter_kv(shape, layers, halves(), tokens, 0, {memory.data(), stride, to.data()}, 0); });
        kept.push_back(std::move(buffer));
        if (kept.size() > 16) kept.pop_front();
    }
    fmt::print(
        R"({{"name":"kv_segment","unit":"us of processor, least median most","bytes":{},"tokens":{},"rounds":{},)"
        R"("copy_out":{},"seal":{},"verify":{},"copy_in":{}}})"
        "\n",
        bytes, tokens, rounds, spread(out), spread(seal), spread(verify), spread(in));
    return 0;
}
