#include "wire/link_messages.h"

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/exception.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <exception>
#include <limits>
#include <utility>

#include "base/check.h"
#include "link.capnp.h"
#include "wire/errc.h"
#include "wire/validate.h"

namespace exa::wire {

namespace {

namespace proto = link_proto;

// Messages are three pointers deep; a hostile one must not nest.
constexpr int nesting_max = 8;

// Texts for people travel cut to this, so that no peer's long error ends a link.
constexpr std::size_t message_bytes_max = 1024;
constexpr std::size_t name_bytes_max = 255;

// Data payload: offset u32 | count u16 | token ids u32[count] | bytes to the end.
constexpr std::size_t data_fixed_size = bare_data_payload_size(0);

template <class Int>
void put_int(Bytes& out, Int value) {
    for (std::size_t i = 0; i < sizeof(Int); ++i) out.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

template <class Int>
Int get_int(ByteView bytes, std::size_t at) {
    Int value = 0;
    for (std::size_t i = 0; i < sizeof(Int); ++i)
        value = static_cast<Int>(value | static_cast<Int>(static_cast<Int>(bytes[at + i]) << (8 * i)));
    return value;
}

// Where a message is built that fits: it saves an allocation of 8 KiB.
using Scratch = std::array<capnp::word, 160>;

// Frame header, segment table (capnproto.org/encoding.html, "Serialization Over a Stream"), segments.
Result<Bytes> checked_frame_of(FrameType type, std::uint32_t stream, capnp::MessageBuilder& message) {
    const auto segments = message.getSegmentsForOutput();
    const std::size_t bytes = capnp::computeSerializedSizeInWords(segments) * sizeof(capnp::word);
    if (bytes > frame_payload_max(type))
        return error(errc::too_big_to_send, std::string(to_string(type)) + " of " + std::to_string(bytes) +
                                                " bytes, at most " + std::to_string(frame_payload_max(type)));
    const auto header = encode_frame_header({type, stream, static_cast<std::uint32_t>(bytes)});
    Bytes frame;
    frame.reserve(header.size() + bytes);
    frame.assign(header.begin(), header.end());
    put_int(frame, static_cast<std::uint32_t>(segments.size() - 1));
    for (const auto& segment : segments) put_int(frame, static_cast<std::uint32_t>(segment.size()));
    if (segments.size() % 2 == 0) put_int(frame, std::uint32_t{0});
    for (const auto& segment : segments) {
        const auto part = segment.asBytes();
        frame.insert(frame.end(), part.begin(), part.end());
    }
    return frame;
}

// For messages whose parts are all bounded.
Bytes frame_of(FrameType type, std::uint32_t stream, capnp::MessageBuilder& message) {
    auto frame = checked_frame_of(type, stream, message);
    EXA_CHECK(frame.has_value());
    return std::move(frame).value();
}

// Decodes a payload with `read`, which gets the root reader; whatever Cap'n Proto finds wrong becomes malformed.
template <class Root, class Read>
auto decode_message(ByteView payload, Read read) -> decltype(read(std::declval<typename Root::Reader>())) {
    if (payload.size() % sizeof(capnp::word) != 0) return error(errc::truncated, "payload is not whole words");
    // Copied, so that words lie where words must.
    const std::size_t count = payload.size() / sizeof(capnp::word);
    std::array<capnp::word, 256> near;
    kj::Array<capnp::word> far;
    if (count > near.size()) far = kj::heapArray<capnp::word>(count);
    kj::ArrayPtr<capnp::word> words = count > near.size() ? far.asPtr() : kj::arrayPtr(near.data(), count);
    if (!payload.empty()) std::memcpy(words.begin(), payload.data(), payload.size());
    capnp::ReaderOptions options;
    options.nestingLimit = nesting_max;
    // Reading a field twice counts twice; nothing here reads one more than that.
    options.traversalLimitInWords = 2 * words.size() + 16;
    try {
        capnp::FlatArrayMessageReader reader(words, options);
        return read(reader.getRoot<Root>());
    } catch (const kj::Exception& exception) {
        return error(errc::malformed, exception.getDescription().cStr());
    }
}

std::string text_of(capnp::Text::Reader text) {
    return {text.begin(), text.size()};
}

kj::StringPtr text_from(const std::string& text) {
    return {text.c_str(), text.size()};
}

void write_replica(proto::Replica::Builder out, const ReplicaId& id) {
    out.setPeer(id.peer.value);
    out.setDeployment(id.deployment.value);
    out.setSlot(id.slot);
}

ReplicaId read_replica(proto::Replica::Reader in) {
    return {PeerId{in.getPeer()}, DeploymentId{in.getDeployment()}, in.getSlot()};
}

void write_load(proto::Load::Builder out, const LoadReport& load) {
    write_replica(out.initReplica(), load.replica);
    out.setInFlight(load.in_flight);
    out.setQueuedTokens(load.queued_tokens);
    out.setKvUsedPermille(load.kv_used_permille);
    out.setAgeUs(static_cast<std::uint64_t>(load.age.count()));
    out.setInFlightLimit(load.in_flight_limit);
    out.setQueued(load.queued);
    out.setTtftP99Ms(load.ttft_p99_ms);
    out.setTbtP99Ms(load.tbt_p99_ms);
}

Result<LoadReport> read_load(proto::Load::Reader in) {
    if (in.getAgeUs() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        return error(errc::malformed, "load.ageUs");
    return LoadReport{read_replica(in.getReplica()),
                      in.getInFlight(),
                      in.getQueuedTokens(),
                      in.getKvUsedPermille(),
                      Duration{static_cast<std::int64_t>(in.getAgeUs())},
                      in.getInFlightLimit(),
                      in.getQueued(),
                      in.getTtftP99Ms(),
                      in.getTbtP99Ms()};
}

// Gives `init(count)` the fields that may travel.
template <class Init>
void write_headers(const std::vector<HeaderField>& headers, Init init) {
    std::vector<const HeaderField*> kept;
    std::size_t bytes = 0;
    for (const HeaderField& field : headers) {
        if (kept.size() == headers_max) break;
        const std::size_t size = field.name.size() + field.value.size();
        if (bytes + size > headers_bytes_max || !check(field)) continue;
        bytes += size;
        kept.push_back(&field);
    }
    if (kept.empty()) return;
    auto list = init(static_cast<unsigned>(kept.size()));
    for (unsigned i = 0; i < list.size(); ++i) {
        list[i].setName(text_from(kept[i]->name));
        list[i].setValue(text_from(kept[i]->value));
    }
}

Result<std::vector<HeaderField>> read_headers(capnp::List<proto::HeaderField>::Reader in) {
    if (in.size() > headers_max) return error(errc::oversized, "header fields");
    std::vector<HeaderField> headers;
    headers.reserve(in.size());
    for (const auto field : in) headers.push_back({text_of(field.getName()), text_of(field.getValue())});
    return headers;
}

std::vector<std::uint32_t> read_tokens(capnp::List<std::uint32_t>::Reader in) {
    std::vector<std::uint32_t> tokens;
    tokens.reserve(in.size());
    for (const std::uint32_t token : in) tokens.push_back(token);
    return tokens;
}

template <class List>
void write_tokens(List out, const std::vector<std::uint32_t>& tokens) {
    for (unsigned i = 0; i < out.size(); ++i) out.set(i, tokens[i]);
}

std::uint32_t wait_ms(Duration wait) {
    const Duration within = std::clamp(wait, Duration{0}, wait_max);
    return static_cast<std::uint32_t>(std::chrono::duration_cast<std::chrono::milliseconds>(within).count());
}

// Enumerators of the schema and of C++ stand in the same order; a value past the last is of a newer minor version.
template <class Enum, class Wire>
Result<Enum> read_enum(Wire value, Enum last, const char* field) {
    const auto number = static_cast<std::uint16_t>(value);
    if (number > static_cast<std::uint16_t>(last)) return error(errc::malformed, field);
    return static_cast<Enum>(number);
}

static_assert(static_cast<int>(proto::EndCode::NOT_SUPPORTED) == static_cast<int>(EndCode::not_supported));
static_assert(static_cast<int>(proto::GoodbyeCode::TIMED_OUT) == static_cast<int>(GoodbyeCode::timed_out));
static_assert(static_cast<int>(proto::RequestKind::KV) + 1 == static_cast<int>(RequestKind::unknown));
static_assert(static_cast<int>(proto::Priority::LOW) == static_cast<int>(Priority::low));

}  // namespace

const char* to_string(EndCode code) {
    switch (code) {
        case EndCode::ok:
            return "ok";
        case EndCode::busy:
            return "busy";
        case EndCode::not_found:
            return "not_found";
        case EndCode::wrong_version:
            return "wrong_version";
        case EndCode::draining:
            return "draining";
        case EndCode::failed:
            return "failed";
        case EndCode::cancelled:
            return "cancelled";
        case EndCode::deadline:
            return "deadline";
        case EndCode::too_long:
            return "too_long";
        case EndCode::not_supported:
            return "not_supported";
    }
    return "unknown";
}

const char* to_string(GoodbyeCode code) {
    switch (code) {
        case GoodbyeCode::closing:
            return "closing";
        case GoodbyeCode::wrong_cluster:
            return "wrong_cluster";
        case GoodbyeCode::wrong_version:
            return "wrong_version";
        case GoodbyeCode::wrong_target:
            return "wrong_target";
        case GoodbyeCode::too_many:
            return "too_many";
        case GoodbyeCode::malformed:
            return "malformed";
        case GoodbyeCode::timed_out:
            return "timed_out";
    }
    return "unknown";
}

std::size_t data_payload_size(const Data& data) {
    return data_fixed_size + 4 * data.tokens.size() + data.bytes.size();
}

Bytes encode_hello(const Hello& hello) {
    capnp::MallocMessageBuilder message;
    auto root = message.initRoot<proto::Hello>();
    root.setCluster(hello.cluster.value);
    root.setVersionMajor(hello.version_major);
    root.setVersionMinor(hello.version_minor);
    root.setPeer(hello.peer.value);
    root.setGeneration(hello.generation.value);
    root.setTarget(hello.target.value);
    root.setName(text_from(hello.name.substr(0, name_bytes_max)));
    return frame_of(FrameType::hello, 0, message);
}

Result<Hello> decode_hello(ByteView payload) {
    return decode_message<proto::Hello>(payload, [](proto::Hello::Reader in) -> Result<Hello> {
        return Hello{ClusterId{in.getCluster()},     in.getVersionMajor(),   in.getVersionMinor(), PeerId{in.getPeer()},
                     Generation{in.getGeneration()}, PeerId{in.getTarget()}, text_of(in.getName())};
    });
}

Result<Bytes> encode_open(std::uint32_t stream, const Open& open) {
    EXA_TRY(check_beside_headers(open));
    if (open.kind == RequestKind::unknown) return error(errc::malformed, "kind");
    Scratch scratch{};
    std::optional<capnp::MallocMessageBuilder> builder;
    const std::size_t words = 64 + open.body.size() / sizeof(capnp::word);
    if (words <= scratch.size())
        builder.emplace(kj::arrayPtr(scratch.data(), scratch.size()));
    else
        builder.emplace(static_cast<unsigned>(words));
    capnp::MallocMessageBuilder& message = *builder;
    auto root = message.initRoot<proto::Open>();
    write_replica(root.initReplica(), open.replica);
    root.setModel(text_from(open.model));
    root.setVersion(text_from(open.version));
    root.setTenant(text_from(open.tenant));
    root.setKind(static_cast<proto::RequestKind>(open.kind));
    root.setXRequestId(text_from(open.x_request_id));
    root.setResponseId(text_from(open.response_id));
    root.setCreatedUnixS(open.created_unix_s);
    root.setSeed(open.seed);
    root.setSessionPosition(open.session_position);
    root.setResumed(open.resumed);
    const auto size_of = [](const auto& list) { return static_cast<unsigned>(list.size()); };
    write_tokens(root.initTokens(size_of(open.choices[0])), open.choices[0]);
    const ByteView body = as_bytes(open.body);
    root.setBody({body.data(), body.size()});
    if (open.choices.size() > 1) {
        auto more = root.initMoreTokens(size_of(open.choices) - 1);
        for (unsigned i = 0; i < more.size(); ++i)
            write_tokens(more.init(i, size_of(open.choices[i + 1])), open.choices[i + 1]);
    }
    if (!open.target.empty()) root.setTarget(text_from(open.target));
    write_headers(open.headers, [&](unsigned count) { return root.initHeaders(count); });
    root.setPriority(static_cast<proto::Priority>(open.priority));
    root.setQueueMs(wait_ms(open.queue_wait));
    return checked_frame_of(FrameType::open, stream, message);
}

Result<Open> decode_open(ByteView payload) {
    return decode_message<proto::Open>(payload, [](proto::Open::Reader in) -> Result<Open> {
        Open open;
        open.replica = read_replica(in.getReplica());
        open.model = text_of(in.getModel());
        open.version = text_of(in.getVersion());
        open.tenant = text_of(in.getTenant());
        open.kind =
            in.getKind() <= proto::RequestKind::KV ? static_cast<RequestKind>(in.getKind()) : RequestKind::unknown;
        open.x_request_id = text_of(in.getXRequestId());
        open.response_id = text_of(in.getResponseId());
        open.created_unix_s = in.getCreatedUnixS();
        open.seed = in.getSeed();
        open.session_position = in.getSessionPosition();
        open.resumed = in.getResumed();
        open.choices[0] = read_tokens(in.getTokens());
        const auto more = in.getMoreTokens();
        if (more.size() >= choices_max) return error(errc::oversized, "open.moreTokens");
        for (const auto tokens : more) open.choices.push_back(read_tokens(tokens));
        const auto body = in.getBody();
        open.body.assign(as_text({body.begin(), body.size()}));
        open.target = text_of(in.getTarget());
        EXA_TRY(open.headers, read_headers(in.getHeaders()));
        EXA_TRY(open.priority, read_enum(in.getPriority(), Priority::low, "open.priority"));
        open.queue_wait = std::chrono::milliseconds{in.getQueueMs()};
        EXA_TRY(check(open));
        return open;
    });
}

Bytes encode_head(std::uint32_t stream, const Head& head) {
    Scratch scratch{};
    capnp::MallocMessageBuilder message(kj::arrayPtr(scratch.data(), scratch.size()));
    auto root = message.initRoot<proto::Head>();
    root.setStatus(head.status);
    root.setContentType(text_from(head.content_type.substr(0, message_bytes_max)));
    if (head.load) write_load(root.initLoad(), *head.load);
    write_headers(head.headers, [&](unsigned count) { return root.initHeaders(count); });
    if (head.content_length) root.setContentLength(static_cast<std::int64_t>(*head.content_length));
    return frame_of(FrameType::head, stream, message);
}

Result<Head> decode_head(ByteView payload) {
    return decode_message<proto::Head>(payload, [](proto::Head::Reader in) -> Result<Head> {
        Head head;
        head.status = in.getStatus();
        head.content_type = text_of(in.getContentType());
        if (in.hasLoad()) {
            EXA_TRY(head.load, read_load(in.getLoad()));
        }
        EXA_TRY(head.headers, read_headers(in.getHeaders()));
        if (in.getContentLength() < -1) return error(errc::malformed, "head.contentLength");
        if (in.getContentLength() >= 0) head.content_length = static_cast<std::uint64_t>(in.getContentLength());
        EXA_TRY(check(head));
        return head;
    });
}

Bytes encode_bare_data(std::uint32_t stream, std::size_t bytes) {
    const auto size = static_cast<std::uint32_t>(bare_data_payload_size(bytes));
    const auto header = encode_frame_header({FrameType::data, stream, size});
    Bytes begin(header.begin(), header.end());
    begin.resize(begin.size() + data_fixed_size);
    return begin;
}

Result<ByteView> decode_bare_data(ByteView payload) {
    if (payload.size() < data_fixed_size) return error(errc::truncated, "data frame");
    if (get_int<std::uint16_t>(payload, 4) != 0) return error(errc::malformed, "tokens in bare data");
    return payload.subspan(data_fixed_size);
}

Bytes encode_data(std::uint32_t stream, const Data& data) {
    const std::size_t size = data_payload_size(data);
    EXA_CHECK(data.tokens.size() <= std::numeric_limits<std::uint16_t>::max());
    EXA_CHECK(size <= frame_payload_max(FrameType::data));
    const auto header = encode_frame_header({FrameType::data, stream, static_cast<std::uint32_t>(size), data.choice});
    Bytes frame;
    frame.reserve(frame_header_size + size);
    frame.insert(frame.end(), header.begin(), header.end());
    put_int(frame, data.offset);
    put_int(frame, static_cast<std::uint16_t>(data.tokens.size()));
    for (const std::uint32_t token : data.tokens) put_int(frame, token);
    const ByteView bytes = as_bytes(data.bytes);
    frame.insert(frame.end(), bytes.begin(), bytes.end());
    return frame;
}

Result<Data> decode_data(ByteView payload, std::uint16_t choice) {
    if (payload.size() < data_fixed_size) return error(errc::truncated, "data frame");
    Data data;
    data.choice = choice;
    data.offset = get_int<std::uint32_t>(payload, 0);
    const std::size_t count = get_int<std::uint16_t>(payload, 4);
    if ((payload.size() - data_fixed_size) / 4 < count)
        return error(errc::truncated, "data frame of " + std::to_string(count) + " tokens");
    data.tokens.reserve(count);
    for (std::size_t i = 0; i < count; ++i)
        data.tokens.push_back(get_int<std::uint32_t>(payload, data_fixed_size + 4 * i));
    data.bytes.assign(as_text(payload.subspan(data_fixed_size + 4 * count)));
    return data;
}

Bytes encode_end(std::uint32_t stream, const End& end) {
    Scratch scratch{};
    capnp::MallocMessageBuilder message(kj::arrayPtr(scratch.data(), scratch.size()));
    auto root = message.initRoot<proto::End>();
    root.setCode(static_cast<proto::EndCode>(end.code));
    root.setMessage(text_from(end.message.substr(0, message_bytes_max)));
    if (end.load) write_load(root.initLoad(), *end.load);
    root.setRetryAfterMs(wait_ms(end.retry_after));
    return frame_of(FrameType::end, stream, message);
}

Result<End> decode_end(ByteView payload) {
    return decode_message<proto::End>(payload, [](proto::End::Reader in) -> Result<End> {
        End end;
        const bool known = in.getCode() <= proto::EndCode::NOT_SUPPORTED;
        end.code = known ? static_cast<EndCode>(in.getCode()) : EndCode::failed;
        end.message = text_of(in.getMessage());
        if (in.hasLoad()) {
            EXA_TRY(end.load, read_load(in.getLoad()));
        }
        end.retry_after = std::chrono::milliseconds{in.getRetryAfterMs()};
        EXA_TRY(check(end));
        return end;
    });
}

Bytes encode_cancel(std::uint32_t stream) {
    return encode_frame(FrameType::cancel, stream, {});
}

Bytes encode_credit(std::uint32_t stream, std::uint32_t bytes) {
    Bytes payload;
    put_int(payload, bytes);
    return encode_frame(FrameType::credit, stream, payload);
}

Result<std::uint32_t> decode_credit(ByteView payload) {
    if (payload.size() != 4) return error(errc::truncated, "credit frame");
    return get_int<std::uint32_t>(payload, 0);
}

Bytes encode_goodbye(const Goodbye& goodbye) {
    capnp::MallocMessageBuilder message;
    auto root = message.initRoot<proto::Goodbye>();
    root.setCode(static_cast<proto::GoodbyeCode>(goodbye.code));
    root.setMessage(text_from(goodbye.message.substr(0, message_bytes_max)));
    return frame_of(FrameType::goodbye, 0, message);
}

Result<Goodbye> decode_goodbye(ByteView payload) {
    return decode_message<proto::Goodbye>(payload, [](proto::Goodbye::Reader in) -> Result<Goodbye> {
        Goodbye goodbye;
        EXA_TRY(goodbye.code, read_enum(in.getCode(), GoodbyeCode::timed_out, "goodbye.code"));
        goodbye.message = text_of(in.getMessage());
        return goodbye;
    });
}

}  // namespace exa::wire
