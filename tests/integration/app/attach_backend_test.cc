// Requests to an attached server as replies: what is passed on, and what sends them elsewhere.
#include "app/attach/backend.h"

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "../io/http_support.h"
#include "../io/support.h"
#include "io/errc.h"
#include "io/http/server.h"
#include "support/print.h"

using namespace exa::app;
using namespace exa::app::attach;
using namespace exa::app::replica;
using namespace exa::io;
using namespace exa::io::http;
using namespace exa::io::test;
namespace wire = exa::wire;

namespace {

const exa::ReplicaId id{exa::PeerId{1}, exa::DeploymentId{2}, 3};

struct Read {
    std::optional<wire::Head> head;
    std::string body;
    std::optional<wire::End> end;
};

struct Fixture {
    explicit Fixture()
        : server(io, {}, in_coroutine(io, [this](auto request, auto exchange) { return answer(request, exchange); }),
                 log) {
        BOOST_TEST_REQUIRE(server.listen(any_port).has_value());
    }

    // By what the request's body says.
    Awaitable<void> answer(HttpRequest request, std::shared_ptr<AwaitedExchange> exchange) {
        requests.push_back(request);
        if (request.body.starts_with("status ")) {
            HttpResponse response;
            response.status = std::stoi(request.body.substr(7));
            response.headers.add("content-type", "application/json");
            response.headers.add("retry-after", "7");
            response.headers.add("x-extra", "kept");
            response.body = "{\"of\":\"the server\"}";
            co_await exchange->respond(std::move(response));
        } else if (request.body.starts_with("cut ")) {
            const bool events = request.body == "cut stream";
            exchange->start(200, {{"content-type", events ? "text/event-stream; charset=utf-8" : "application/json"}});
            static_cast<void>(co_await exchange->write("data: a\n\ndata: ha"));
            asio::steady_timer pause(co_await asio::this_coro::executor, milliseconds(20));
            co_await pause.async_wait(as_result);
        } else if (request.body == "flood") {
            HttpHeaders fields{{"content-type", "application/json"}};
            for (int i = 0; i < 1000; ++i) fields.add("x-" + std::to_string(i), std::string(50, 'x'));
            co_await exchange->respond({200, std::move(fields), "{}"});
        } else if (request.body == "endless event") {
            exchange->start(200, {{"content-type", "text/event-stream"}});
            for (int i = 0; i < 100; ++i)
                if (!co_await exchange->write(std::string(32 * 1024, 'x'))) co_return;
            static_cast<void>(co_await exchange->write("\n\ndata: [DONE]\n\n"));
            co_await exchange->finish();
        } else if (request.body.starts_with("events ")) {
            exchange->start(200, {{"content-type", "text/event-stream"}});
            static_cast<void>(co_await exchange->write(request.body.substr(7)));
            co_await exchange->finish();
        } else {
            bool gone = false;
            asio::steady_timer pause(co_await asio::this_coro::executor, seconds(30));
            exchange->on_client_left([&] {
                gone = true;
                pause.cancel();
            });
            co_await pause.async_wait(as_result);
            given_up += gone;
        }
    }

    std::shared_ptr<AttachBackend> backend(std::uint32_t limit = 4) {
        wire::ReplicaRecord record;
        record.id = id;
        record.in_flight_limit = limit;
        return std::make_shared<AttachBackend>(
            record, AttachServer::parse("http://127.0.0.1:" + std::to_string(server.endpoint().port)).value(),
            seconds(4), lines);
    }

    std::shared_ptr<ReplyReader> open(AttachBackend& backend, std::string body) {
        wire::Open open;
        open.body = std::move(body);
        open.x_request_id = "req-1";
        return backend.open(std::move(open), context);
    }

    static Awaitable<Read> read(std::shared_ptr<ReplyReader> reply) {
        Read all;
        while (!all.end) {
            std::optional<exa::Result<ReplyPart>> part;
            co_await eventually(
                [&] {
                    part = reply->poll();
                    return part.has_value();
                },
                "a part of the reply");
            BOOST_TEST_REQUIRE(part->has_value());
            if (auto* head = std::get_if<wire::Head>(&part->value())) all.head = *head;
            if (auto* data = std::get_if<wire::Data>(&part->value())) all.body += data->bytes;
            if (auto* end = std::get_if<wire::End>(&part->value())) all.end = *end;
        }
        co_return all;
    }

    // The messages of what the backend writes, with the URL and the error.
    struct Lines final : exa::Log {
        void write(exa::LogLevel, std::string_view, std::string_view message,
                   std::initializer_list<exa::LogField> fields) override {
            std::string line(message);
            for (const exa::LogField& field : fields)
                if (field.key != "replica") line += "|" + field.value;
            written.push_back(std::move(line));
        }
        std::vector<std::string> written;
    };

    asio::io_context io{1};
    exa::NullLog log;
    Lines lines;
    std::vector<HttpRequest> requests;
    int given_up = 0;
    HttpServer server;
    ReplyContext context{io.get_executor(), std::make_shared<ReceiverStats>()};
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(attach_backend, Fixture)

BOOST_AUTO_TEST_CASE(answers_and_mistakes_of_clients_are_passed_on_untouched) {
    const auto attached = backend();
    drive(io, [&]() -> Awaitable<void> {
        for (const int status : {200, 400, 404, 422}) {
            const Read all = co_await read(open(*attached, "status " + std::to_string(status)));
            BOOST_TEST_REQUIRE(all.head.has_value());
            BOOST_TEST(all.head->status == status);
            BOOST_TEST(all.head->content_type == "application/json");
            BOOST_TEST(all.head->content_length == 19U);
            BOOST_TEST(all.body == "{\"of\":\"the server\"}");
            BOOST_TEST(all.end->code == wire::EndCode::ok);
            const auto& fields = all.head->headers;
            BOOST_TEST(std::ranges::count(fields, wire::HeaderField{"x-extra", "kept"}) == 1);
        }
        BOOST_TEST(requests.back().path == "/v1/chat/completions");
        BOOST_TEST(requests.back().id == "req-1");
        BOOST_TEST(context.stats->client_errors == 3U);
    });
}

BOOST_AUTO_TEST_CASE(a_server_that_is_full_is_busy_and_says_for_how_long) {
    const auto attached = backend();
    drive(io, [&]() -> Awaitable<void> {
        for (const int status : {429, 503}) {
            const Read all = co_await read(open(*attached, "status " + std::to_string(status)));
            BOOST_TEST(!all.head.has_value());
            BOOST_TEST(all.end->code == wire::EndCode::busy);
            BOOST_TEST(all.end->retry_after == seconds(7));
        }
    });
}

BOOST_AUTO_TEST_CASE(a_server_that_fails_sends_the_request_elsewhere) {
    const auto attached = backend();
    drive(io, [&]() -> Awaitable<void> {
        for (const int status : {500, 502, 504}) {
            const Read all = co_await read(open(*attached, "status " + std::to_string(status)));
            BOOST_TEST(!all.head.has_value());
            BOOST_TEST(all.end->code == wire::EndCode::failed);
            BOOST_TEST(all.end->message.find("the server answered " + std::to_string(status)) != std::string::npos);
        }
    });
}

BOOST_AUTO_TEST_CASE(that_requests_fail_is_said_with_the_url_and_without_the_servers_words) {
    const auto attached = backend();
    drive(io, [&]() -> Awaitable<void> {
        for (const char* body : {"status 200", "status 404", "status 429"}) co_await read(open(*attached, body));
        BOOST_TEST(lines.written.empty());
        for (int i = 0; i < 3; ++i) co_await read(open(*attached, "status 500"));
        BOOST_TEST_REQUIRE(lines.written.size() == 1U);
        BOOST_TEST(lines.written[0] == "requests to the server fail|http://127.0.0.1:" +
                                           std::to_string(server.endpoint().port) + "|the server answered 500");
    });
}

BOOST_AUTO_TEST_CASE(of_a_stream_that_breaks_whole_events_are_passed_on) {
    const auto attached = backend();
    drive(io, [&]() -> Awaitable<void> {
        const Read stream = co_await read(open(*attached, "cut stream"));
        BOOST_TEST(stream.head->content_type == "text/event-stream");
        BOOST_TEST(stream.body == "data: a\n\n");
        BOOST_TEST(stream.end->code == wire::EndCode::failed);
        const Read whole = co_await read(open(*attached, "cut whole"));
        BOOST_TEST(whole.body == "data: a\n\ndata: ha");
        BOOST_TEST(whole.end->code == wire::EndCode::failed);
    });
}

BOOST_AUTO_TEST_CASE(a_stream_that_lacks_its_last_event_has_failed_however_cleanly_it_ends) {
    const auto attached = backend();
    drive(io, [&]() -> Awaitable<void> {
        const Read whole = co_await read(open(*attached, "events data: a\n\ndata: [DONE]\n\n"));
        BOOST_TEST(whole.end->code == wire::EndCode::ok);
        for (const std::string events : {"data: a\n\n", "data: a\n\ndata: [DO"}) {
            const Read broken = co_await read(open(*attached, "events " + events));
            BOOST_TEST(broken.body == "data: a\n\n");
            BOOST_TEST(broken.end->code == wire::EndCode::failed);
            BOOST_TEST(broken.end->message == "the server: the stream ended before its last event");
        }
    });
}

BOOST_AUTO_TEST_CASE(requests_without_a_byte_leave_a_server_that_does_not_answer) {
    const auto attached = backend();
    drive(io, [&]() -> Awaitable<void> {
        const auto waiting = open(*attached, "never");
        co_await eventually([&] { return !requests.empty(); }, "the request to arrive");
        attached->drop_unanswered();
        const Read ended = co_await read(waiting);
        BOOST_TEST(ended.end->code == wire::EndCode::failed);
        BOOST_TEST(attached->load().in_flight == 0U);
        const Read later = co_await read(open(*attached, "status 200"));
        BOOST_TEST(later.end->code == wire::EndCode::ok);
    });
}

BOOST_AUTO_TEST_CASE(a_flood_of_fields_is_cut_to_what_a_message_holds) {
    const auto attached = backend();
    drive(io, [&]() -> Awaitable<void> {
        const Read all = co_await read(open(*attached, "flood"));
        BOOST_TEST(all.head->headers.size() == wire::headers_max);
        BOOST_TEST(all.body == "{}");
    });
}

BOOST_AUTO_TEST_CASE(an_event_without_an_end_is_passed_on_in_parts) {
    const auto attached = backend();
    drive(io, [&]() -> Awaitable<void> {
        const Read all = co_await read(open(*attached, "endless event"));
        BOOST_TEST(all.body.size() == 100U * 32 * 1024 + 16);
        BOOST_TEST(all.end->code == wire::EndCode::ok);
    });
}

BOOST_AUTO_TEST_CASE(the_limit_is_enforced_and_places_come_back) {
    const auto attached = backend(2);
    drive(io, [&]() -> Awaitable<void> {
        const auto first = open(*attached, "never");
        auto second = open(*attached, "never");
        BOOST_TEST(attached->load().in_flight == 2U);
        const Read third = co_await read(open(*attached, "status 200"));
        BOOST_TEST(third.end->code == wire::EndCode::busy);
        first->cancel();
        second.reset();
        BOOST_TEST(attached->load().in_flight == 0U);
        const Read fourth = co_await read(open(*attached, "status 200"));
        BOOST_TEST(fourth.end->code == wire::EndCode::ok);
        BOOST_TEST(attached->load().in_flight == 0U);
    });
}

BOOST_AUTO_TEST_CASE(a_reply_that_is_cancelled_gives_the_servers_work_up) {
    const auto attached = backend();
    drive(io, [&]() -> Awaitable<void> {
        const auto reply = open(*attached, "never");
        co_await eventually([&] { return !requests.empty(); }, "the request to arrive");
        reply->cancel();
        co_await eventually([&] { return given_up == 1; }, "the server to notice");
        BOOST_TEST(context.stats->cancelled == 1U);
    });
}

BOOST_AUTO_TEST_CASE(stopping_ends_answers_under_way_and_takes_no_more) {
    const auto attached = backend();
    drive(io, [&]() -> Awaitable<void> {
        const auto running = open(*attached, "never");
        co_await eventually([&] { return !requests.empty(); }, "the request to arrive");
        attached->stop();
        const Read ended = co_await read(running);
        BOOST_TEST(ended.end->code == wire::EndCode::cancelled);
        const Read late = co_await read(open(*attached, "status 200"));
        BOOST_TEST(late.end->code == wire::EndCode::busy);
        attached->stop();
    });
}

BOOST_AUTO_TEST_SUITE_END()
