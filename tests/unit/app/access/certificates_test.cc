#include "app/access/certificates.h"

#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "certificates.h"

using namespace exa;
using namespace exa::app;
using namespace exa::app::access;
using exa::test::self_signed;

namespace {

// A log that counts its errors.
class CountingLog final : public Log {
  public:
    void write(LogLevel level, std::string_view, std::string_view, std::initializer_list<LogField> fields) override {
        errors += level == LogLevel::error;
        warnings += level == LogLevel::warn;
        for (const LogField& field : fields) text += field.value;
    }
    int errors = 0;
    int warnings = 0;
    std::string text;
};

struct Fixture {
    std::string folder = std::tmpnam(nullptr);
    std::string certificate = folder + "/certificate.pem";
    std::string key = folder + "/key.pem";
    CountingLog log;
    WallTime now{std::chrono::duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch()).count()};
    int changes = 0;

    Fixture() { std::filesystem::create_directory(folder); }
    ~Fixture() { std::filesystem::remove_all(folder); }
    static void put(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
    void put(const test::PemPair& pair) {
        put(certificate, pair.certificate);
        put(key, pair.key);
    }
    auto load() { return Certificates::load(certificate, key, now, log); }
    void reload(Certificates& certificates) {
        certificates.reload(now, [this](const auto& settings) {
            BOOST_TEST(settings != nullptr);
            ++changes;
        });
    }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(certificates_of_the_door, Fixture)

BOOST_AUTO_TEST_CASE(new_pair_is_taken_once_and_the_same_never) {
    put(self_signed("first"));
    auto loaded = load();
    BOOST_TEST_REQUIRE(loaded.has_value());
    Certificates& certificates = *loaded.value();
    const auto before = certificates.serving();
    reload(certificates);
    BOOST_TEST(changes == 0);
    put(self_signed("second"));
    reload(certificates);
    reload(certificates);
    BOOST_TEST(changes == 1);
    BOOST_TEST(certificates.serving() != before);
    BOOST_TEST(certificates.view().facts.subject == "CN=second");
    BOOST_TEST(certificates.trust() != nullptr);
    BOOST_TEST(log.errors == 0);
}

BOOST_AUTO_TEST_CASE(bad_pair_keeps_the_old_one_and_says_so_once_until_a_good_one_comes) {
    put(self_signed("first"));
    const auto loaded = load();
    BOOST_TEST_REQUIRE(loaded.has_value());
    Certificates& certificates = *loaded.value();
    const auto before = certificates.serving();
    const auto next = self_signed("second");
    // As when the first of the two files was replaced.
    put(certificate, next.certificate);
    reload(certificates);
    reload(certificates);
    BOOST_TEST(certificates.serving() == before);
    BOOST_TEST(certificates.view().facts.subject == "CN=first");
    BOOST_TEST(certificates.view().failure.find("the key is not that of the first certificate") != std::string::npos);
    BOOST_TEST(log.errors == 1);
    std::filesystem::remove(key);
    reload(certificates);
    BOOST_TEST(certificates.view().failure == "http.key_file: " + key + " cannot be read");
    put(key, next.key);
    reload(certificates);
    BOOST_TEST(changes == 1);
    BOOST_TEST(certificates.view().facts.subject == "CN=second");
    BOOST_TEST(certificates.view().failure == "");
    BOOST_TEST(log.text.find("BEGIN") == std::string::npos);
}

// The files are the old ones again: there is nothing wrong any more.
BOOST_AUTO_TEST_CASE(old_pair_that_comes_back_ends_the_failure) {
    const auto pair = self_signed("first");
    put(pair);
    const auto loaded = load();
    put(key, "nothing");
    reload(*loaded.value());
    BOOST_TEST(loaded.value()->view().failure != "");
    put(key, pair.key);
    reload(*loaded.value());
    BOOST_TEST(loaded.value()->view().failure == "");
    std::filesystem::remove(key);
    reload(*loaded.value());
    BOOST_TEST(loaded.value()->view().failure != "");
    put(key, pair.key);
    reload(*loaded.value());
    BOOST_TEST(loaded.value()->view().failure == "");
}

BOOST_AUTO_TEST_CASE(peer_does_not_start_without_a_pair) {
    BOOST_TEST(load().error().detail == "http.certificate_file: " + certificate + " cannot be read");
    put(certificate, self_signed("a").certificate);
    BOOST_TEST(load().error().detail == "http.key_file: " + key + " cannot be read");
    put(key, self_signed("b").key);
    BOOST_TEST(load().error().detail.find("the key is not that of the first certificate") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(expired_certificate_is_used_with_a_warning) {
    put(self_signed("old"));
    now.unix_us += 48LL * 3600 * 1'000'000;
    BOOST_TEST(load().has_value());
    BOOST_TEST(log.warnings == 1);
}

BOOST_AUTO_TEST_SUITE_END()
