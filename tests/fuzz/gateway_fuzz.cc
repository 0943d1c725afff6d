// A request at its ingress under events that a fuzzer chooses: any part of a reply, of any attempt, in any order. The
// answer's rules are those of tests/property/gateway.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "base/check.h"
#include "unit/gateway/harness.h"

namespace {

using namespace exa;
using namespace exa::gateway;
using namespace exa::gateway::test;

// What a client may be sent: one head or one error, bytes and one end after the head, and one Done as the last.
class Rules {
  public:
    void take(const Actions& actions) {
        for (const Action& action : actions) {
            EXA_CHECK(!done_);
            if (std::holds_alternative<SendHead>(action)) {
                EXA_CHECK(!std::exchange(answered_, true));
                body_ = true;
            } else if (std::holds_alternative<SendError>(action)) {
                EXA_CHECK(!std::exchange(answered_, true));
            } else if (std::holds_alternative<SendBody>(action)) {
                EXA_CHECK(body_);
            } else if (std::holds_alternative<SendEnd>(action)) {
                EXA_CHECK(std::exchange(body_, false));
            }
            done_ = std::holds_alternative<Done>(action);
        }
    }
    bool done() const { return done_; }

  private:
    bool answered_ = false;
    bool body_ = false;
    bool done_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Harness harness(4, size > 0 && data[0] % 2 == 0);
    Rules rules;
    harness.begin();
    for (std::size_t i = 1; i + 2 < size; i += 3) {
        rules.take(std::exchange(harness.actions, {}));
        Request& request = harness.request;
        const AttemptNumber attempt = harness.number() - data[i + 1] % 3;
        const std::uint32_t value = data[i + 2];
        harness.now += Duration(value * 1'000);
        switch (data[i] % 9) {
            case 0:
                request.handle_opened(attempt);
                break;
            case 1:
                request.handle_open_failed(harness.now, attempt, static_cast<OpenFailure>(value % 4), "x",
                                           harness.actions);
                break;
            case 2:
                request.handle_head(harness.now, attempt,
                                    value % 2 == 0 ? stream_head() : json_head(static_cast<std::uint16_t>(200 + value)),
                                    harness.actions);
                break;
            case 3:
                request.handle_data(harness.now, attempt, tokens(value % 16, {value, value + 1}), harness.actions);
                break;
            case 4:
                request.handle_end(harness.now, attempt, {static_cast<wire::EndCode>(value % 10), "x"},
                                   harness.actions);
                break;
            case 5:
                request.handle_broken(harness.now, attempt, "x", harness.actions);
                break;
            case 6:
                request.handle_drained(harness.now);
                break;
            case 7:
                harness.now += std::chrono::seconds(value);
                request.handle_timeout(harness.now, harness.actions);
                break;
            default:
                if (value < 8) request.handle_client_gone(harness.now, harness.actions);
                break;
        }
    }
    harness.request.handle_client_gone(harness.now, harness.actions);
    rules.take(harness.actions);
    EXA_CHECK(rules.done() && harness.dispatcher.in_flight() == 0);
    return 0;
}
