// Two link machines and the wire between them, without sockets.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"
#include "io/link/machine.h"

namespace exa::io::test {

inline link::LinkIdentity identity_of(PeerId peer) {
    return {cluster_id("test"), peer, Generation{1}, "peer-" + to_string(peer)};
}

// One machine with everything that it reported.
struct LinkEnd {
    LinkEnd(link::LinkConfig settings, PeerId self, link::LinkMachine::Role role, TimePoint now)
        : config(settings), identity(identity_of(self)), machine(config, identity, stats, role, now) {}

    // What waits to be written, as one string of bytes; empty when nothing does.
    Bytes transmit() {
        Bytes bytes;
        for (const link::OutgoingFrame& one : machine.poll_transmit()) {
            bytes.insert(bytes.end(), one.frame.begin(), one.frame.end());
            bytes.insert(bytes.end(), one.rest.begin(), one.rest.end());
        }
        machine.handle_written();
        collect();
        return bytes;
    }
    // Bytes of the other side, cut as reads cut them.
    void receive(TimePoint now, ByteView bytes) {
        while (!bytes.empty() && !machine.finished()) {
            const auto space = machine.read_space();
            const std::size_t count = std::min(bytes.size(), space.first.size() + space.then.size());
            const std::size_t first = std::min(count, space.first.size());
            std::copy_n(bytes.begin(), first, space.first.begin());
            std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(first), count - first, space.then.begin());
            bytes = bytes.subspan(count);
            machine.handle_received(now, count);
            handle_what_came(now);
        }
    }
    void handle_what_came(TimePoint now) {
        if (!machine.handshake_done() && !machine.refusal() && !failure) {
            if (const auto judged = machine.handle_hello(now); !judged) failure = judged.error();
        }
        while (machine.handshake_done() && machine.handle_frame(now)) continue;
        collect();
    }
    void collect() {
        while (auto event = machine.poll_event()) {
            if (auto* opened = std::get_if<link::StreamOpened>(&*event))
                inbound.push_back(opened->stream);
            else if (auto* sync = std::get_if<link::SyncReceived>(&*event))
                syncs.push_back(sync->message);
            else if (auto* broken = std::get_if<link::ProtocolBroken>(&*event))
                protocol_errors.push_back(broken->why.message());
            events.push_back(std::move(*event));
        }
    }
    template <class Event>
    std::size_t count() const {
        return static_cast<std::size_t>(std::ranges::count_if(
            events, [](const link::LinkEvent& event) { return std::holds_alternative<Event>(event); }));
    }

    link::LinkConfig config;
    link::LinkIdentity identity;
    link::LinkStats stats;
    link::LinkMachine machine;
    std::optional<Error> failure;  // of the hello
    std::vector<link::LinkEvent> events;
    std::vector<std::shared_ptr<link::InboundState>> inbound;
    std::vector<Bytes> syncs;
    std::vector<std::string> protocol_errors;
};

// Peer a dials, peer b accepts.
struct MachinePair {
    static constexpr PeerId peer_a{0xa};
    static constexpr PeerId peer_b{0xb};

    explicit MachinePair(link::LinkConfig config = {})
        : dialler(config, peer_a, link::LinkMachine::Role::dialler, now),
          acceptor(config, peer_b, link::LinkMachine::Role::acceptor, now) {}

    void start_handshake() {
        dialler.machine.start_handshake(peer_b, std::nullopt);
        acceptor.machine.start_handshake(PeerId{}, std::nullopt);
        flush();
    }
    // Carries bytes both ways until neither end has any.
    void flush() {
        for (bool moved = true; moved;) {
            moved = false;
            for (auto* from : {&dialler, &acceptor}) {
                const Bytes bytes = from->transmit();
                if (bytes.empty()) continue;
                (from == &dialler ? acceptor : dialler).receive(now, bytes);
                moved = true;
            }
        }
    }
    std::shared_ptr<link::OutboundState> open(std::string body = {}) {
        wire::Open request;
        request.body = std::move(body);
        auto stream = dialler.machine.open(request);
        return stream ? stream.value() : nullptr;
    }

    TimePoint now = TimePoint(std::chrono::hours(1));
    LinkEnd dialler;
    LinkEnd acceptor;
};

}  // namespace exa::io::test
