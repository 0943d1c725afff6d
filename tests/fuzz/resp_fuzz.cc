// A stranger's bytes at the Redis port: parsing and answering end in answers or a broken connection, cut as the first
// byte says.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "resp/request_parser.h"
#include "resp/session.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::size_t cut = 1 + data[0];
    exa::resp::ParserLimits limits;
    limits.large_min = 32;
    limits.argument_max = 4096;
    exa::resp::ArgumentBudget budget;
    exa::resp::RequestParser parser(
        limits,
        [](const exa::resp::Request& so_far, std::uint64_t bytes) -> std::optional<exa::resp::Body> {
            if (so_far.arguments.size() != 3) return std::nullopt;
            const auto memory = std::make_shared<exa::Bytes>(std::min<std::uint64_t>(bytes, 50));
            return exa::resp::Body{memory, *memory};
        },
        budget);
    exa::resp::Session session({"fuzz", 1, (data[0] & 1) != 0}, [](std::string_view, std::string_view password) {
        return password == "a" ? std::optional<std::string>("t") : std::nullopt;
    });
    exa::resp::ReplyWriter out;
    for (std::size_t at = 1; at < size && !parser.broken();) {
        std::size_t left = std::min(cut, size - at), filled = 0;
        for (const auto& room : parser.buffers()) {
            const std::size_t part = std::min(left, room.size());
            std::copy_n(data + at + filled, part, room.begin());
            filled += part;
            left -= part;
        }
        parser.commit(filled);
        at += filled;
        while (auto request = parser.next()) {
            std::uint64_t bytes = 0;
            for (const exa::resp::Body& body : request->bodies) bytes += body.bytes.size();
            if (request->arguments.empty() || (!request->refused && bytes != request->body_bytes)) std::abort();
            if (const auto operation = session.handle({}, std::move(*request), out)) {
                exa::resp::Outcome outcome;
                if (operation->verb == exa::resp::Verb::get) outcome.values.resize(operation->keys.size());
                if (operation->verb == exa::resp::Verb::scan) exa::resp::matches(operation->pattern, "some key");
                session.finish(outcome, out);
            }
            // A browser is left without an answer.
            if (out.empty() && !session.closing()) std::abort();
            out.take();
            if (session.closing()) return 0;
        }
    }
    return 0;
}
