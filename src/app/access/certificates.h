// Certificates: the pair of files that makes the gateway speak HTTPS, and how it is replaced while the peer runs.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "base/time.h"
#include "io/tls/settings.h"

namespace exa::app::access {

// What operators see.
struct CertificateView {
    io::tls::CertificateFacts facts;
    std::string failure;  // why what is in the files now is not used; empty when it is
};

class Certificates {
  public:
    // Called with every new pair, from whoever calls reload().
    using OnChange = std::function<void(std::shared_ptr<const io::tls::TlsSettings>)>;

    // Reads both files. errc::usage names the one that is wrong.
    static Result<std::unique_ptr<Certificates>> load(std::string certificate_file, std::string key_file, WallTime now,
                                                      Log& log);

    // Reads the files again and takes what is new; what cannot be used changes nothing and is logged once. Not from two
    // threads at a time.
    void reload(WallTime now, const OnChange& on_change);

    // Thread-safe, as all below: what a server speaks with.
    std::shared_ptr<const io::tls::TlsSettings> serving() const;
    // What a client of this very peer trusts: its certificate, whatever name it is for.
    std::shared_ptr<const io::tls::TlsSettings> trust() const;
    CertificateView view() const;

  private:
    struct Texts {
        std::string certificate;
        std::string key;
        bool operator==(const Texts&) const = default;
    };

    Certificates(std::string certificate_file, std::string key_file, Log& log)
        : certificate_file_(std::move(certificate_file)), key_file_(std::move(key_file)), log_(log) {}
    Result<Texts> read() const;
    Result<void> use(const Texts& texts, WallTime now);
    void fail(std::string why);

    const std::string certificate_file_;
    const std::string key_file_;
    Log& log_;
    Texts seen_;  // what the files held when they were last read
    mutable std::mutex mutex_;
    std::shared_ptr<const io::tls::TlsSettings> serving_;
    std::shared_ptr<const io::tls::TlsSettings> trust_;
    std::string failure_;
};

}  // namespace exa::app::access
