// KvShelf: a replica's owner that keeps finished segments by key, and gives what it has.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "engine/kv_port.h"
#include "io/crypto/openssl_crypto.h"

namespace exa::engine::test {

inline const io::crypto::OpenSslCrypto crypto;

inline kv::SegmentKey test_root(std::uint8_t tenant) {
    kv::SegmentKey root;
    root.bytes[0] = tenant;
    return root;
}

struct KvShelf {
    std::map<kv::SegmentKey, Bytes> segments;

    // After a step.
    void take_finished(KvPort& port) {
        while (const auto finished = port.poll_finished()) {
            Bytes payload(port.segment_bytes());
            port.copy_out(*finished, payload);
            const auto [at, fresh] = segments.emplace(finished->key, payload);
            EXA_CHECK(fresh || at->second == payload);
        }
    }

    // Gives what `want` asks for until the first that is missing, at most `count`, and ends the wait.
    void serve(KvPort& port, const KvWant& want, std::size_t count = SIZE_MAX, TimePoint now = {}) {
        for (const kv::SegmentKey& key : want.keys) {
            const auto found = segments.find(key);
            if (found == segments.end() || count-- == 0) break;
            if (!port.give(now, want.id, found->second)) return;
        }
        port.end_restore(now, want.id);
    }

    // Before a step.
    void serve_all(KvPort& port) {
        while (const auto want = port.poll_want({})) serve(port, *want);
    }
};

}  // namespace exa::engine::test
