// Authorizer: who sent a request, and whether it may be served. Every request passes it once, before any of it is
// routed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "app/access/routes.h"
#include "app/shared/address.h"
#include "io/http/message.h"
#include "openai/error.h"
#include "wire/link_messages.h"

namespace exa::app::access {

// Who asks.
struct Caller {
    std::string tenant;  // empty: anonymous
    wire::Priority priority = wire::Priority::normal;
};

// Thread-safe; called by every data-plane thread. A warm-up of this peer (app/replica/warm_up_header.h) passes check(),
// and is never asked about again.
class Authorizer {
  public:
    virtual ~Authorizer() = default;

    // By what the headers say; the error is the answer.
    virtual openai::ApiResult<Caller> check(const io::http::HttpRequest& request, const Route& route) = 0;

    // Whether the caller is to know of a model at all.
    virtual bool may_use(const Caller& caller, std::string_view model) = 0;

    // What admit() would say of the tenant and the model, for an operator who asks: charges nothing.
    virtual openai::ApiResult<void> permits(std::string_view tenant, std::string_view model) = 0;

    // For one answer of `model`, as soon as the body has named it; the error is the answer. `prompt_tokens` is the
    // ingress's estimate.
    virtual openai::ApiResult<void> admit(const Caller& caller, std::string_view model,
                                          std::uint64_t prompt_tokens) = 0;

    // Tokens that the answer had, when it has ended.
    virtual void spend(std::string_view tenant, std::uint64_t tokens) = 0;
};

// Lets everybody use the API, without a tenant. Commands come from this machine, and from no web page: a browser names
// the page that a request comes from.
class OpenAuthorizer final : public Authorizer {
  public:
    openai::ApiResult<Caller> check(const io::http::HttpRequest& request, const Route& route) override {
        if (route.access != Access::admin) return Caller{};
        if (shared::is_loopback(request.remote) && !request.headers.find("origin")) return Caller{};
        openai::ApiError error = openai::unauthorized();
        error.status = 403;
        error.message = "operator's commands are taken from loopback addresses only, and from no web page";
        return error;
    }

    bool may_use(const Caller&, std::string_view) override { return true; }

    openai::ApiResult<void> permits(std::string_view, std::string_view) override {
        return boost::outcome_v2::success();
    }

    openai::ApiResult<void> admit(const Caller&, std::string_view, std::uint64_t) override {
        return boost::outcome_v2::success();
    }

    void spend(std::string_view, std::uint64_t) override {}
};

}  // namespace exa::app::access
