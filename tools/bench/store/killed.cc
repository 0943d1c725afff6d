// exa-store-crash: one life of a store that is about to be killed.
//
//   exa-store-crash DIRECTORY none|wal|sync SEED < EXPECTED
//
// EXPECTED: numbers of segments, one a line, that former lives have acknowledged. First each of them is read and
// compared, and the store is scrubbed: "lost N", "corrupt N" or "dropped N" for what is not as it must be; of
// durability none only what is read wrong counts. Then, after "ready", segments are erased ("-N", before it happens)
// and put ("+N", after it is acknowledged), without end.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/rng.h"
#include "io/clock/system_clock.h"
#include "io/crypto/openssl_crypto.h"
#include "io/store/segment_store.h"

namespace {

constexpr std::size_t payload_max = 1 << 20;
constexpr std::size_t held_max = 200;

const exa::io::crypto::OpenSslCrypto crypto;
const exa::kv::SegmentSealer sealer(crypto, exa::as_bytes("a secret of this test"));

exa::kv::SegmentKey key_of(std::uint64_t n) {
    return {crypto.sha256(exa::as_bytes("segment " + std::to_string(n)))};
}

// Length and bytes follow from the number.
exa::kv::SealedSegment segment(std::uint64_t n) {
    exa::kv::SegmentHead head;
    head.key = key_of(n);
    head.tenant = n % 3;
    const auto buffer =
        std::make_shared<exa::kv::SegmentBuffer>(exa::kv::segment_header_size + 1 + exa::hash64(n, 0) % payload_max);
    const auto payload = buffer->bytes().subspan(exa::kv::segment_header_size);
    exa::Rng rng(n);
    for (std::size_t i = 0; i < payload.size(); i += 8) {
        const std::uint64_t word = rng.next();
        for (std::size_t j = i; j < std::min(i + 8, payload.size()); ++j)
            payload[j] = static_cast<std::uint8_t>(word >> (8 * (j - i)));
    }
    sealer.seal(head, *buffer);
    return buffer;
}

// In one write, so that a kill never leaves half a line.
void say(const std::string& word, std::uint64_t n) {
    const std::string line = word + std::to_string(n) + "\n";
    if (::write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::exit(3);
}

// The segments on standard input that the store still has; says which it has not, and reads everything else once.
std::vector<std::uint64_t> check(exa::io::store::SegmentStore& store, const exa::io::clock::SystemClock& clock,
                                 bool strict) {
    std::vector<std::uint64_t> held;
    for (std::uint64_t n = 0; std::cin >> n;) {
        const auto found = store.get(clock.wall(), key_of(n));
        if (!found) {
            if (strict) say("lost ", n);
            continue;
        }
        const auto wanted = segment(n);
        if (!std::ranges::equal(found->view().subspan(16), wanted->view().subspan(16))) say("corrupt ", n);
        held.push_back(n);
    }
    std::optional<exa::kv::SegmentKey> scrubbed;
    for (bool finished = false; !finished;) {
        const exa::io::store::ScrubReport report = store.scrub(scrubbed, 100);
        if (strict && report.dropped != 0) say("dropped ", report.dropped);
        scrubbed = report.next;
        finished = !scrubbed;
    }
    return held;
}

// Puts and erases at random until it is killed, and says what it did after the store did it.
[[noreturn]] void work(exa::io::store::SegmentStore& store, const exa::io::clock::SystemClock& clock,
                       std::uint64_t seed, std::vector<std::uint64_t> held) {
    exa::Rng rng(seed);
    // Numbers that no other run uses.
    std::uint64_t next = exa::hash64(seed, 1) >> 1;
    for (;;) {
        store.maintain(clock.wall());
        std::vector<exa::kv::SealedSegment> batch;
        std::vector<std::uint64_t> numbers;
        for (std::uint64_t i = 0; i <= rng.next() % 4; ++i) {
            numbers.push_back(next++);
            batch.push_back(segment(numbers.back()));
        }
        const auto outcomes = store.put(clock.wall(), batch);
        for (std::size_t i = 0; i < outcomes.size(); ++i) {
            if (outcomes[i] != exa::io::store::PutOutcome::stored) continue;
            say("+", numbers[i]);
            held.push_back(numbers[i]);
        }
        while (held.size() > held_max) {
            const std::size_t at = static_cast<std::size_t>(rng.next() % held.size());
            say("-", held[at]);
            const exa::kv::SegmentKey key = key_of(held[at]);
            store.erase(std::span(&key, 1));
            held[at] = held.back();
            held.pop_back();
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) {
        std::fprintf(stderr, "usage: exa-store-crash DIRECTORY none|wal|sync SEED < EXPECTED\n");
        return 2;
    }
    const std::string durability = argv[2];
    exa::io::store::StoreConfig config;
    config.directory = argv[1];
    config.capacity_bytes = 4ull << 30;
    config.durability = durability == "sync"  ? exa::io::store::Durability::sync
                        : durability == "wal" ? exa::io::store::Durability::wal
                                              : exa::io::store::Durability::none;
    const bool strict = config.durability != exa::io::store::Durability::none;
    const exa::io::clock::SystemClock clock;
    exa::NullLog log;
    auto opened = exa::io::store::SegmentStore::open(config, sealer, clock.wall(), log);
    if (opened.has_error()) {
        std::fprintf(stderr, "exa-store-crash: %s\n", opened.error().message().c_str());
        return 2;
    }
    exa::io::store::SegmentStore& store = *opened.value();

    std::vector<std::uint64_t> held = check(store, clock, strict);
    say("ready ", held.size());
    work(store, clock, std::strtoull(argv[3], nullptr, 10), std::move(held));
}
