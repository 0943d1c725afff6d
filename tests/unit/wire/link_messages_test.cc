#include "wire/link_messages.h"
#include "support/print.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "base/rng.h"
#include "wire/errc.h"

using namespace exa::wire;
using exa::Bytes;
using exa::ByteView;

namespace {

exa::ReplicaId replica() {
    return {exa::PeerId{0x1122334455667788}, exa::DeploymentId{0x99aabbccddeeff00}, 3};
}

LoadReport load() {
    return {replica(), 7, 1234, 512, exa::Duration{1'500'000}, 12, 5, 850, 47};
}

Hello hello() {
    return {exa::ClusterId{0xc1}, 1, 2, exa::PeerId{0xa1}, exa::Generation{9}, exa::PeerId{0xb1}, "alpha"};
}

Open open() {
    Open message;
    message.replica = replica();
    message.model = "SmolLM2-135M-Instruct";
    message.version = "v1";
    message.tenant = "team";
    message.kind = RequestKind::completion;
    message.x_request_id = "req-1";
    message.response_id = "cmpl-1";
    message.created_unix_s = 1'700'000'000;
    message.seed = 42;
    message.session_position = 0xfedcba9876543210;
    message.resumed = true;
    message.choices = {{1, 2, 49'151}, {}, {7}};
    message.body = R"({"prompt":"Zug nach M\u00fcnchen"})";
    message.target = "/v1/completions?api-version=1";
    message.headers = {{"traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}, {"accept", "*/*"}};
    message.priority = Priority::high;
    message.queue_wait = std::chrono::milliseconds{1500};
    return message;
}

Head head() {
    return {503, "application/json", load(), {{"retry-after", "2"}}, 187};
}
Data data() {
    return {17, {5, 6, 7}, "data: {\"x\":1}\n\n", 2};
}
End end() {
    return {EndCode::deadline, "waited for 1.5 s", load(), std::chrono::milliseconds{250}};
}

// As they were in wire version 1.0: the vectors of that time must read so for good.
LoadReport load_of_1_0() {
    return {replica(), 7, 1234, 512, exa::Duration{1'500'000}};
}
Open open_of_1_0() {
    Open message = open();
    message.choices.resize(1);
    message.target.clear();
    message.headers.clear();
    message.priority = Priority::normal;
    message.queue_wait = exa::Duration{0};
    return message;
}
Head head_of_1_0() {
    return {503, "application/json", load_of_1_0()};
}
Data data_of_1_0() {
    return {17, {5, 6, 7}, "data: {\"x\":1}\n\n"};
}
End end_of_1_0() {
    return {EndCode::too_long, "the prompt has 3000 tokens", load_of_1_0()};
}

Goodbye goodbye() {
    return {GoodbyeCode::wrong_target, "peer 00a1"};
}

ByteView payload_of(const Bytes& frame) {
    return ByteView(frame).subspan(frame_header_size);
}

// The bytes that the first release wrote: what it can read, every later one must write and read.
Bytes vector_file(const std::string& name) {
    const char* tests = std::getenv("EXASERVE_TESTS");
    BOOST_TEST_REQUIRE(tests != nullptr, "EXASERVE_TESTS names the folder of the tests");
    std::ifstream file(std::string(tests) + "/../proto/vectors/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(link_messages)

BOOST_AUTO_TEST_CASE(messages_survive_bytes_and_back) {
    BOOST_TEST(decode_hello(payload_of(encode_hello(hello()))).value() == hello());
    BOOST_TEST(decode_open(payload_of(encode_open(5, open()).value())).value() == open());
    BOOST_TEST(decode_head(payload_of(encode_head(5, head()))).value() == head());
    BOOST_TEST(decode_head(payload_of(encode_head(5, {}))).value() == Head{});
    BOOST_TEST(decode_data(payload_of(encode_data(5, data())), 2).value() == data());
    BOOST_TEST(decode_data(payload_of(encode_data(5, {}))).value() == Data{});
    BOOST_TEST(decode_end(payload_of(encode_end(5, end()))).value() == end());
    BOOST_TEST(decode_goodbye(payload_of(encode_goodbye(goodbye()))).value() == goodbye());
    BOOST_TEST(decode_credit(payload_of(encode_credit(5, 0x01020304))).value() == 0x01020304U);
}

BOOST_AUTO_TEST_CASE(bytes_equal_the_golden_vectors) {
    const std::vector<std::pair<std::string, Bytes>> frames = {
        {"link_hello_1.bin", encode_hello(hello())},      {"link_open_2.bin", encode_open(5, open()).value()},
        {"link_head_2.bin", encode_head(5, head())},      {"link_data_2.bin", encode_data(5, data())},
        {"link_end_2.bin", encode_end(5, end())},         {"link_cancel_1.bin", encode_cancel(5)},
        {"link_credit_1.bin", encode_credit(5, 131'072)}, {"link_goodbye_1.bin", encode_goodbye(goodbye())},
    };
    for (const auto& [name, frame] : frames)
        BOOST_TEST(exa::to_hex(frame) == exa::to_hex(vector_file(name)), name << " is now " << exa::to_hex(frame));
}

BOOST_AUTO_TEST_CASE(golden_vectors_decode) {
    BOOST_TEST(decode_hello(payload_of(vector_file("link_hello_1.bin"))).value() == hello());
    BOOST_TEST(decode_open(payload_of(vector_file("link_open_2.bin"))).value() == open());
    BOOST_TEST(decode_end(payload_of(vector_file("link_end_2.bin"))).value() == end());
}

BOOST_AUTO_TEST_CASE(bytes_of_1_0_still_read_as_they_did) {
    BOOST_TEST(decode_open(payload_of(vector_file("link_open_1.bin"))).value() == open_of_1_0());
    BOOST_TEST(decode_head(payload_of(vector_file("link_head_1.bin"))).value() == head_of_1_0());
    BOOST_TEST(decode_data(payload_of(vector_file("link_data_1.bin"))).value() == data_of_1_0());
    BOOST_TEST(decode_end(payload_of(vector_file("link_end_1.bin"))).value() == end_of_1_0());
    // A request for one choice costs nothing beyond what it did.
    BOOST_TEST(exa::to_hex(encode_data(5, data_of_1_0())) == exa::to_hex(vector_file("link_data_1.bin")));
}

// A peer of a later version may ask for what this one does not know, and end as it does not know.
BOOST_AUTO_TEST_CASE(a_later_kind_or_code_reads_as_unknown_or_failed) {
    const auto with_byte = [](Bytes frame, std::uint8_t from, std::uint8_t to) {
        const auto at = std::find(frame.begin() + frame_header_size + 16, frame.end(), from);
        BOOST_TEST_REQUIRE(at != frame.end());
        *at = to;
        return frame;
    };
    Open asked;
    asked.kind = RequestKind::detokenize;
    const Bytes open_frame = with_byte(encode_open(1, asked).value(), 5, 200);
    BOOST_TEST(decode_open(payload_of(open_frame)).value().kind == RequestKind::unknown);
    const Bytes end_frame = with_byte(encode_end(1, {EndCode::not_supported, ""}), 9, 200);
    BOOST_TEST(decode_end(payload_of(end_frame)).value().code == EndCode::failed);
    asked.kind = RequestKind::unknown;
    BOOST_TEST(!encode_open(1, asked).has_value());
}

BOOST_AUTO_TEST_CASE(header_fields_that_must_not_travel_are_left_out) {
    const std::vector<HeaderField> fields = {{"authorization", "Bearer secret"},
                                             {"traceparent", "00-1-2-3"},
                                             {"transfer-encoding", "chunked"},
                                             {"x-split", "a\r\nx-injected: b"},
                                             {"Accept", "*/*"},
                                             {"x-long", std::string(header_value_bytes_max + 1, 'v')},
                                             {"x-model", "m"}};
    const std::vector<HeaderField> kept = {{"traceparent", "00-1-2-3"}, {"x-model", "m"}};
    Open asked;
    asked.headers = fields;
    BOOST_TEST(decode_open(payload_of(encode_open(1, asked).value())).value().headers == kept);
    Head answered;
    answered.headers = fields;
    BOOST_TEST(decode_head(payload_of(encode_head(1, answered))).value().headers == kept);
}

BOOST_AUTO_TEST_CASE(header_fields_travel_up_to_their_bounds) {
    Open asked;
    for (int i = 0; i < 100; ++i) asked.headers.push_back({"x-" + std::to_string(i), "v"});
    BOOST_TEST(decode_open(payload_of(encode_open(1, asked).value())).value().headers.size() == headers_max);
    asked.headers.assign(20, {"x-large", std::string(header_value_bytes_max, 'v')});
    BOOST_TEST(decode_open(payload_of(encode_open(1, asked).value())).value().headers.size() == 7U);
}

BOOST_AUTO_TEST_CASE(waits_are_cut_to_an_hour) {
    Open asked;
    asked.queue_wait = std::chrono::hours{2};
    BOOST_TEST(!encode_open(1, asked).has_value());
    const End last{EndCode::busy, "", std::nullopt, std::chrono::hours{48}};
    BOOST_TEST(decode_end(payload_of(encode_end(1, last))).value().retry_after == wait_max);
}

BOOST_AUTO_TEST_CASE(every_truncation_is_refused_or_harmless) {
    auto try_all = [](const Bytes& frame, auto decode) {
        const ByteView payload = payload_of(frame);
        for (std::size_t size = 0; size < payload.size(); ++size) static_cast<void>(decode(payload.first(size)));
        return !decode(payload.first(payload.size() / 2 / 8 * 8)).has_value();
    };
    BOOST_TEST(try_all(encode_hello(hello()), decode_hello));
    BOOST_TEST(try_all(encode_open(5, open()).value(), decode_open));
    BOOST_TEST(try_all(encode_head(5, head()), decode_head));
    BOOST_TEST(try_all(encode_end(5, end()), decode_end));
    BOOST_TEST(try_all(encode_goodbye(goodbye()), decode_goodbye));
    BOOST_TEST(!decode_hello({}).has_value());
    BOOST_TEST(!decode_data(payload_of(encode_data(5, data())).first(17)).has_value());
    BOOST_TEST(!decode_credit(Bytes{1, 2, 3}).has_value());
    BOOST_TEST(!decode_credit(Bytes{1, 2, 3, 4, 5}).has_value());
}

BOOST_AUTO_TEST_CASE(count_of_tokens_beyond_the_payload_is_refused) {
    Bytes payload = {0, 0, 0, 0, 0xff, 0xff, 1, 0, 0, 0};
    const auto decoded = decode_data(payload);
    BOOST_TEST_REQUIRE(!decoded.has_value());
    BOOST_TEST(decoded.error().code == make_error_code(errc::truncated));
}

BOOST_AUTO_TEST_CASE(flipped_bits_and_random_bytes_never_crash) {
    exa::Rng rng(11);
    const std::vector<Bytes> frames = {encode_hello(hello()), encode_open(5, open()).value(), encode_head(5, head()),
                                       encode_end(5, end()), encode_goodbye(goodbye())};
    std::size_t refused = 0;
    for (int round = 0; round < 4'000; ++round) {
        Bytes payload;
        if (round % 2 == 0) {
            payload.resize(8 * rng.below(40));
            for (auto& byte : payload) byte = static_cast<std::uint8_t>(rng.next());
        } else {
            const ByteView whole = payload_of(frames[rng.below(frames.size())]);
            payload.assign(whole.begin(), whole.end());
            for (int flips = 0; flips < 4; ++flips)
                payload[rng.below(payload.size())] ^= static_cast<std::uint8_t>(1U << rng.below(8));
        }
        if (!decode_hello(payload)) ++refused;
        if (!decode_open(payload)) ++refused;
        if (!decode_head(payload)) ++refused;
        if (!decode_end(payload)) ++refused;
        if (!decode_goodbye(payload)) ++refused;
        static_cast<void>(decode_data(payload));
    }
    BOOST_TEST(refused > 1'000);
}

// A list of four billion void elements takes no bytes: a count alone must not cost memory or time.
BOOST_AUTO_TEST_CASE(amplified_list_is_refused) {
    const Bytes frame = encode_open(5, open()).value();
    const Bytes payload(payload_of(frame).begin(), payload_of(frame).end());
    // Every word that looks like a list pointer becomes a list of 2^29 - 1 voids.
    bool refused = false;
    for (std::size_t at = 8; at + 8 <= payload.size(); at += 8) {
        if ((payload[at] & 3) != 1) continue;
        Bytes hostile = payload;
        hostile[at + 4] = 0xf8;
        hostile[at + 5] = hostile[at + 6] = hostile[at + 7] = 0xff;
        const auto decoded = decode_open(hostile);
        if (!decoded)
            refused = true;
        else
            for (const auto& tokens : decoded.value().choices) BOOST_TEST(tokens.size() < 100'000);
    }
    BOOST_TEST(refused);
}

BOOST_AUTO_TEST_CASE(values_outside_their_range_are_refused) {
    Bytes frame = encode_goodbye({GoodbyeCode::timed_out, ""});
    const auto code = std::ranges::find(frame.begin() + frame_header_size + 16, frame.end(),
                                        static_cast<std::uint8_t>(GoodbyeCode::timed_out));
    BOOST_TEST_REQUIRE(code != frame.end());
    *code = 99;
    const auto decoded = decode_goodbye(payload_of(frame));
    BOOST_TEST_REQUIRE(!decoded.has_value());
    BOOST_TEST(decoded.error().code == make_error_code(errc::malformed));
}

BOOST_AUTO_TEST_CASE(request_that_fits_no_frame_is_not_encoded) {
    Open big;
    big.body.assign(19'000'000, 'x');
    const auto encoded = encode_open(1, big);
    BOOST_TEST_REQUIRE(!encoded.has_value());
    BOOST_TEST(encoded.error().code == make_error_code(errc::too_big_to_send));
    big.body.resize(16 * 1024 * 1024);
    BOOST_TEST(decode_open(payload_of(encode_open(1, big).value())).value() == big);
}

BOOST_AUTO_TEST_CASE(texts_for_people_are_cut) {
    const std::string text(100'000, 'x');
    BOOST_TEST(decode_end(payload_of(encode_end(1, {EndCode::failed, text, {}}))).value().message.size() == 1024U);
    BOOST_TEST(decode_goodbye(payload_of(encode_goodbye({GoodbyeCode::closing, text}))).value().message.size() ==
               1024U);
    Hello long_name = hello();
    long_name.name = text;
    BOOST_TEST(decode_hello(payload_of(encode_hello(long_name))).value().name.size() == 255U);
}

BOOST_AUTO_TEST_CASE(every_code_has_a_name) {
    for (int code = 0; code <= 9; ++code) BOOST_TEST(std::string(to_string(static_cast<EndCode>(code))) != "unknown");
    for (int code = 0; code <= 6; ++code)
        BOOST_TEST(std::string(to_string(static_cast<GoodbyeCode>(code))) != "unknown");
}

BOOST_AUTO_TEST_CASE(bare_data_is_data_without_tokens) {
    Bytes frame = encode_bare_data(5, 3);
    const Bytes whole = encode_data(5, {0, {}, "abc"});
    BOOST_TEST(frame.size() + 3 == whole.size());
    frame.insert(frame.end(), {'a', 'b', 'c'});
    BOOST_TEST(frame == whole);
    const exa::ByteView payload = exa::ByteView(whole).subspan(frame_header_size);
    BOOST_TEST(payload.size() == bare_data_payload_size(3));
    BOOST_TEST(exa::as_text(decode_bare_data(payload).value()) == "abc");
    BOOST_TEST(decode_bare_data(payload.first(6)).value().empty());
    BOOST_TEST(!decode_bare_data(payload.first(5)).has_value());
    const Bytes tokens = encode_data(5, {0, {1}, "abc"});
    BOOST_TEST(!decode_bare_data(exa::ByteView(tokens).subspan(frame_header_size)).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
