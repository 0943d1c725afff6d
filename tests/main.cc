// The main of every Boost.Test binary: it ends with "N passed, N failed, N skipped", which tools/test sums.
#define BOOST_TEST_MODULE exaserve
#define BOOST_TEST_NO_MAIN
#include <boost/test/results_collector.hpp>
#include <boost/test/tree/observer.hpp>
#include <boost/test/unit_test.hpp>
#include <cstdio>

namespace {

class Tally final : public boost::unit_test::test_observer {
  public:
    void test_unit_finish(const boost::unit_test::test_unit& unit, unsigned long) override {
        if (unit.p_type != boost::unit_test::TUT_CASE) return;
        const auto& results = boost::unit_test::results_collector.results(unit.p_id);
        if (results.p_skipped)
            ++skipped_;
        else
            ++(results.passed() ? passed_ : failed_);
    }
    void test_unit_skipped(const boost::unit_test::test_unit& unit, boost::unit_test::const_string) override {
        if (unit.p_type == boost::unit_test::TUT_CASE) ++skipped_;
    }
    void print() const { std::printf("%d passed, %d failed, %d skipped\n", passed_, failed_, skipped_); }

  private:
    int passed_ = 0;
    int failed_ = 0;
    int skipped_ = 0;
};

}  // namespace

int main(int argc, char* argv[]) {
    static Tally tally;
    auto init = [] {
        boost::unit_test::framework::register_observer(tally);
        return true;
    };
    const int status = boost::unit_test::unit_test_main(+init, argc, argv);
    tally.print();
    return status;
}
