// Damaged models and bad recordings through libkerneton, for a build with address checks:
//
//     fuzz MODEL.knx COUNT [SEED]
//
// Every piece of memory has exactly the size that the library asked for, so reading or writing outside of it is seen.
// What is answered must be sound: codes that have a sentence, finite decision values, probabilities that sum to one.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "../../core/runtime/kerneton.h"

namespace {

constexpr std::int64_t LARGEST = 1 << 28;  // more memory than this is not given
std::mt19937_64 random_bits;
const char *stage = "";

[[noreturn]] void fail(long number, const std::string &what) {
    std::fprintf(stderr, "number %ld, %s: %s\n", number, stage, what.c_str());
    std::exit(1);
}

std::int64_t below(std::int64_t n) { return n < 1 ? 0 : (std::int64_t)(random_bits() % (std::uint64_t)n); }
bool chance(double p) { return (double)(random_bits() >> 11) * 0x1p-53 < p; }

// Memory of this very size on a cache line.
using Memory = std::unique_ptr<char, decltype(&std::free)>;
Memory memory(std::int64_t size) {
    void *at = nullptr;
    if (posix_memalign(&at, 64, size > 0 ? (std::size_t)size : 1)) std::exit(2);
    return Memory((char *)at, &std::free);
}

std::uint64_t checksum(const unsigned char *bytes, std::size_t size) {
    std::uint64_t sum = 14695981039346656037ULL;
    std::size_t k = 0;
    for (; k + 8 <= size; k += 8) {
        std::uint64_t word;
        std::memcpy(&word, bytes + k, 8);
        sum = (sum ^ word) * 1099511628211ULL;
        sum ^= sum >> 29;
    }
    for (; k < size; ++k) sum = (sum ^ bytes[k]) * 1099511628211ULL;
    return sum;
}

// Some bytes changed, most of them where sizes and positions are; mostly with a checksum that fits.
std::string mutated(const std::string &content, bool *sealed) {
    std::string data = content;
    std::uint32_t n_entries;
    std::memcpy(&n_entries, content.data() + 12, 4);
    const std::int64_t first = 32 + 32 * (std::int64_t)n_entries;
    for (std::int64_t times = 1 + below(3); times > 0; --times) {
        std::int64_t at = 8 + below((std::int64_t)data.size() - 8);
        const double choice = (double)below(1000) / 1000;
        if (choice < 0.35) at = 32 + below(first - 32);
        else if (choice < 0.85) {  // inside an array, whatever its size
            const char *entry = content.data() + 32 + 32 * below(n_entries);
            std::uint32_t kind;
            std::uint64_t place, count;
            std::memcpy(&kind, entry + 8, 4);
            std::memcpy(&place, entry + 16, 8);
            std::memcpy(&count, entry + 24, 8);
            constexpr int width[] = {1, 4, 8, 4, 8};
            at = (std::int64_t)place + below((std::int64_t)count * width[kind]);
        }
        const int bytes[] = {0, 1, 2, 127, 128, 255, (int)below(256)};
        if (at < (std::int64_t)data.size()) data[(std::size_t)at] = (char)bytes[below(7)];
    }
    if (chance(0.05)) data.resize((std::size_t)below((std::int64_t)data.size()));
    if (chance(0.02)) data += std::string((std::size_t)(1 + below(100)), 'x');
    *sealed = chance(0.8) && data.size() >= 32;
    if (*sealed) {
        const std::uint64_t size = data.size(), sum = checksum((const unsigned char *)data.data() + 32, data.size() - 32);
        std::memcpy(&data[16], &size, 8);
        std::memcpy(&data[24], &sum, 8);
    }
    return data;
}

float coordinate(bool wild) {
    const float usual = (float)((double)below(4001) / 1000 - 2);
    if (!wild) return usual;
    const float odd[] = {NAN, INFINITY, -INFINITY, 1e30f, -1e30f, 9.9e5f, 1e-40f, 0.0f, NAN};
    return odd[below(9)];
}

double any_rate() {
    const double rates[] = {30, 0, -1, NAN, INFINITY, 1e300, 0.1, 10000, 1e-300, 25};
    return chance(0.7) ? 30 : rates[below(10)];
}

void check_code(long number, std::int64_t code) {
    if (code < KN_CLOCK_BACK) fail(number, "a code that is none: " + std::to_string(code));
    if (std::strcmp(kn_sentence((std::int32_t)code), "an unknown code") == 0) fail(number, "a code without a sentence");
}

void check_answer(long number, const kn_facts &facts, const double *decisions, const double *shares, const kn_answer &answer) {
    if (answer.label < 0 || answer.label >= facts.n_labels) fail(number, "a label that is none");
    double total = 0;
    for (int k = 0; k < facts.n_labels; ++k) {
        if (!std::isfinite(decisions[k])) fail(number, "a decision value that is not finite");
        total += shares[k];
    }
    if (facts.calibrated && !(std::fabs(total - 1) < 1e-6)) fail(number, "probabilities do not sum to one");
    if (!(answer.unknown >= 0 && answer.unknown <= 1)) fail(number, "a score outside of 0 and 1");
}

// Returns how many answers there were.
int ask(long number, const kn_model *model) {
    kn_facts facts;
    kn_describe(model, &facts);
    for (int k = -1; k <= facts.n_labels; ++k)
        if (const char *name = kn_label(model, k)) (void)std::strlen(name);
    for (int k = -1; k <= facts.n_joints; ++k) {
        if (const char *name = kn_joint(model, k)) (void)std::strlen(name);
        if (kn_parent(model, k) >= facts.n_joints) fail(number, "a parent that is none");
    }
    int answers = 0;
    auto decisions = memory(8 * facts.n_labels), shares = memory(8 * facts.n_labels), parts = memory(8 * facts.n_joints);
    double *d = (double *)decisions.get(), *p = (double *)shares.get();
    for (int k = 0; k < facts.n_labels; ++k) p[k] = 0;

    stage = "prediction";
    const std::int32_t frames = chance(0.05) ? (std::int32_t)below(3) - 1 : 1 + (std::int32_t)below(30);
    const std::int64_t room_size = kn_predict_size(model, frames);
    if (room_size < 0) check_code(number, room_size);
    else if (room_size <= LARGEST && (std::int64_t)facts.n_joints * frames < 1 << 20) {
        const std::int64_t count = 3LL * facts.n_joints * frames;
        auto joints = memory(4 * count), room = memory(room_size);
        const double wild = chance(0.3) ? 0.02 : 0;
        for (std::int64_t k = 0; k < count; ++k) ((float *)joints.get())[k] = coordinate(chance(wild));
        const float *given = (const float *)joints.get();
        const double fps = any_rate();
        kn_answer answer;
        if (kn_predict(model, given, frames, fps, room.get(), room_size - 1, d, p, &answer) >= 0) fail(number, "too little room was accepted");
        std::int32_t code = kn_predict(model, given, frames, fps, room.get(), room_size, d, p, &answer);
        check_code(number, code);
        if (code == KN_OK) check_answer(number, facts, d, p, answer), ++answers;
        stage = "explanation";
        const std::int32_t label = (std::int32_t)below(facts.n_labels + 2) - 1;
        double intercept;
        code = kn_explain(model, given, frames, fps, label, room.get(), room_size, (double *)parts.get(), &intercept);
        check_code(number, code);
        if (code == KN_OK)
            for (int j = 0; j < facts.n_joints; ++j)
                if (!std::isfinite(((double *)parts.get())[j])) fail(number, "a contribution that is not finite");
    }

    stage = "live view";
    kn_live_options options = {chance(0.5) ? 0.5 : any_rate(), chance(0.5) ? 0.2 : any_rate(), chance(0.8) ? 2 : any_rate()};
    const std::int64_t size = kn_live_size(model, &options);
    if (size < 0) check_code(number, size);
    else if (size <= LARGEST / 8) {
        auto place = memory(size), pose = memory(12LL * facts.n_joints);
        kn_live *live;
        if (kn_live_open(model, &options, place.get(), size - 1, &live) >= 0) fail(number, "too little memory was accepted");
        if (kn_live_open(model, &options, place.get(), size, &live)) fail(number, "a live view that does not open");
        double now = 0;
        for (int s = 0; s < 12; ++s) {
            now = chance(0.03) ? any_rate() - 10 : now + 0.5;
            for (int k = 0; k < 3 * facts.n_joints; ++k) ((float *)pose.get())[k] = coordinate(chance(0.001));
            kn_event event;
            const std::int32_t code = kn_live_push(live, now, (const float *)pose.get(), d, p, &event);
            check_code(number, code);
            if (code == KN_OK && event.has_label) check_answer(number, facts, d, p, event.current), ++answers;
            if (code == KN_OK && event.has_segment && !(event.end > event.begin)) fail(number, "a movement that ends before it begins");
        }
    }
    return answers;
}

}  // namespace

int main(int argc, char **argv) {
    if (argc < 3) return std::fprintf(stderr, "usage: fuzz MODEL.knx COUNT [SEED]\n"), 2;
    std::ifstream file(argv[1], std::ios::binary);
    const std::string content((std::istreambuf_iterator<char>(file)), {});
    random_bits.seed(argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 0);
    long opened = 0, answers = 0;
    const long count = std::atol(argv[2]);
    for (long number = 0; number < count; ++number) {
        bool sealed;
        const std::string data = mutated(content, &sealed);
        const std::int64_t n = (std::int64_t)data.size();
        auto bytes = memory(n);
        std::memcpy(bytes.get(), data.data(), data.size());
        stage = "opening";
        const std::int64_t size = kn_open_size(bytes.get(), n);
        if (size < 0) {
            check_code(number, size);
            continue;
        }
        if (!sealed && data != content) fail(number, "a changed model was opened");
        if (size > LARGEST) continue;
        auto place = memory(size);
        const kn_model *model = nullptr;
        if (size > 0 && kn_open(bytes.get(), n, place.get(), size - 1, &model) >= 0) fail(number, "too little memory was accepted");
        const std::int32_t code = kn_open(bytes.get(), n, place.get(), size, &model);
        check_code(number, code);
        if (code) continue;
        ++opened;
        answers += ask(number, model);
    }
    std::printf("%ld opened, %ld answers\n", opened, answers);
    return 0;
}
