#include "resp/reply.h"

#include <algorithm>
#include <utility>

namespace exa::resp {

namespace {

// Below this a copy costs less than one more buffer of a write.
constexpr std::uint64_t copied_max = 4096;

}  // namespace

std::uint64_t Value::size() const {
    std::uint64_t bytes = 0;
    for (const Piece& piece : pieces) bytes += piece.bytes.size();
    return bytes;
}

void ReplyWriter::simple(std::string_view line) {
    text("+");
    text(line);
    text("\r\n");
}

void ReplyWriter::error(std::string_view line) {
    std::string safe(line);
    std::ranges::replace_if(safe, [](char c) { return c == '\r' || c == '\n'; }, ' ');
    text("-");
    text(safe);
    text("\r\n");
}

void ReplyWriter::integer(std::int64_t value) {
    header(':', value);
}

void ReplyWriter::bulk(std::string_view bytes) {
    header('$', static_cast<std::int64_t>(bytes.size()));
    text(bytes);
    text("\r\n");
}

void ReplyWriter::bulk(const Value& value) {
    const std::uint64_t size = value.size();
    header('$', static_cast<std::int64_t>(size));
    for (const Piece& piece : value.pieces) {
        if (size <= copied_max) {
            text(as_text(piece.bytes));
            continue;
        }
        open_.reset();
        pieces_.push_back(piece);
        bytes_ += piece.bytes.size();
    }
    text("\r\n");
}

void ReplyWriter::null() {
    text(version_ == 3 ? "_\r\n" : "$-1\r\n");
}

void ReplyWriter::array(std::size_t count) {
    header('*', static_cast<std::int64_t>(count));
}

void ReplyWriter::map(std::size_t count) {
    if (version_ == 3)
        header('%', static_cast<std::int64_t>(count));
    else
        header('*', static_cast<std::int64_t>(2 * count));
}

std::vector<Piece> ReplyWriter::take() {
    // A text grows while it is open, so that its place is known only now.
    for (Piece& piece : pieces_)
        if (piece.bytes.data() == nullptr)
            piece.bytes = as_bytes(*std::static_pointer_cast<const std::string>(piece.owner));
    open_.reset();
    bytes_ = 0;
    return std::exchange(pieces_, {});
}

void ReplyWriter::text(std::string_view bytes) {
    if (!open_) {
        open_ = std::make_shared<std::string>();
        pieces_.push_back({open_, {}});
    }
    open_->append(bytes);
    bytes_ += bytes.size();
}

void ReplyWriter::header(char kind, std::int64_t value) {
    text(std::string(1, kind) + std::to_string(value) + "\r\n");
}

}  // namespace exa::resp
