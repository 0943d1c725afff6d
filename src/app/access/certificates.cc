#include "app/access/certificates.h"

#include <fmt/format.h>
#include <fstream>
#include <utility>

#include "app/shared/errc.h"

namespace exa::app::access {

namespace {

constexpr std::size_t file_bytes_max = 1024 * 1024;

Result<std::string> read_file(std::string_view key, const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string text(file_bytes_max + 1, '\0');
    if (file) file.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (file.bad() || !file.is_open())
        return error(shared::errc::usage, fmt::format("{}: {} cannot be read", key, path));
    text.resize(static_cast<std::size_t>(file.gcount()));
    if (text.size() > file_bytes_max)
        return error(shared::errc::usage, fmt::format("{}: {} is longer than 1 MiB", key, path));
    return text;
}

// Clients will refuse it; that is theirs to do.
std::string_view age_problem(const io::tls::CertificateFacts& facts, WallTime now) {
    if (now.unix_seconds() >= facts.not_after_unix_s) return "the certificate has expired";
    if (now.unix_seconds() < facts.not_before_unix_s) return "the certificate is not valid yet";
    return {};
}

}  // namespace

Result<std::unique_ptr<Certificates>> Certificates::load(std::string certificate_file, std::string key_file,
                                                         WallTime now, Log& log) {
    std::unique_ptr<Certificates> made(new Certificates(std::move(certificate_file), std::move(key_file), log));
    EXA_TRY(made->seen_, made->read());
    EXA_TRY(made->use(made->seen_, now));
    return made;
}

Result<Certificates::Texts> Certificates::read() const {
    Texts texts;
    EXA_TRY(texts.certificate, read_file("http.certificate_file", certificate_file_));
    EXA_TRY(texts.key, read_file("http.key_file", key_file_));
    return texts;
}

Result<void> Certificates::use(const Texts& texts, WallTime now) {
    auto serving = io::tls::TlsSettings::serve(texts.certificate, texts.key);
    if (!serving)
        return error(shared::errc::usage, fmt::format("http.certificate_file and http.key_file, {} and {}: {}",
                                                      certificate_file_, key_file_, serving.error().detail));
    EXA_TRY(auto trust, io::tls::TlsSettings::trust(texts.certificate, false));
    const io::tls::CertificateFacts facts = serving.value()->facts();
    {
        const std::lock_guard lock(mutex_);
        serving_ = std::move(serving).value();
        trust_ = std::move(trust);
        failure_.clear();
    }
    log_.info("https", "certificate in use",
              {{"subject", facts.subject}, {"not_after_unix", std::to_string(facts.not_after_unix_s)}});
    if (const auto problem = age_problem(facts, now); !problem.empty())
        log_.warn("https", problem, {{"subject", facts.subject}});
    return success();
}

void Certificates::reload(WallTime now, const OnChange& on_change) {
    auto texts = read();
    if (!texts) {
        // The pair that is in use counts as new again when it is back.
        seen_ = {};
        fail(texts.error().detail);
        return;
    }
    if (texts.value() == seen_) return;
    seen_ = std::move(texts).value();
    if (auto used = use(seen_, now); !used) {
        fail(used.error().detail);
        return;
    }
    on_change(serving());
}

void Certificates::fail(std::string why) {
    {
        const std::lock_guard lock(mutex_);
        if (failure_ == why) return;
        failure_ = why;
    }
    log_.error("https", "the new certificate is not used, the one before is", {{"reason", std::move(why)}});
}

std::shared_ptr<const io::tls::TlsSettings> Certificates::serving() const {
    const std::lock_guard lock(mutex_);
    return serving_;
}

std::shared_ptr<const io::tls::TlsSettings> Certificates::trust() const {
    const std::lock_guard lock(mutex_);
    return trust_;
}

CertificateView Certificates::view() const {
    const std::lock_guard lock(mutex_);
    return {serving_->facts(), failure_};
}

}  // namespace exa::app::access
