// The same in C++: predict MODEL.knx FPS < numbers.
//
//     c++ -std=c++17 predict.cpp -I.. -L../linux-x86_64 -lkerneton -Wl,-rpath,../linux-x86_64 -o predict
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "kerneton.h"

struct alignas(64) Line { char bytes[64]; };  // the core wants memory on cache lines

static std::int64_t checked(std::int64_t code) {
    if (code < 0) throw std::runtime_error(kn_sentence(static_cast<std::int32_t>(code)));
    return code;
}

int main(int argc, char **argv) try {
    if (argc != 3) throw std::runtime_error("usage: predict MODEL.knx FPS < numbers");
    std::ifstream file(argv[1], std::ios::binary);
    const std::string contents((std::istreambuf_iterator<char>(file)), {});
    const auto n_bytes = static_cast<std::int64_t>(contents.size());
    std::vector<Line> bytes(contents.size() / 64 + 1);
    contents.copy(bytes[0].bytes, contents.size());
    std::vector<Line> memory(checked(kn_open_size(bytes.data(), n_bytes)) / 64 + 1);
    const kn_model *model;
    checked(kn_open(bytes.data(), n_bytes, memory.data(), 64 * static_cast<std::int64_t>(memory.size()), &model));
    kn_facts facts;
    kn_describe(model, &facts);
    std::vector<float> joints;
    for (std::string word; std::cin >> word;) joints.push_back(std::strtof(word.c_str(), nullptr));  // reads nan
    const auto frames = static_cast<std::int32_t>(joints.size() / (3 * facts.n_joints));
    std::vector<Line> room(checked(kn_predict_size(model, frames)) / 64 + 1);
    std::vector<double> decisions(facts.n_labels), shares(facts.n_labels);
    kn_answer answer;
    checked(kn_predict(model, joints.data(), frames, std::atof(argv[2]), room.data(),
                       64 * static_cast<std::int64_t>(room.size()), decisions.data(), shares.data(), &answer));
    std::cout << kn_label(model, answer.label) << (answer.is_unknown ? " (unlike anything in training)" : "") << '\n';
} catch (const std::exception &error) {
    std::cerr << error.what() << '\n';
    return 1;
}
