/* The label of one recording: predict MODEL.knx FPS < numbers, of each frame x y z of all joints.
 *     cc predict.c -I.. -L../linux-x86_64 -lkerneton -Wl,-rpath,../linux-x86_64 -o predict */
#include <stdio.h>
#include <stdlib.h>
#include "kerneton.h"

static int64_t checked(int64_t code) {
    if (code < 0) fprintf(stderr, "%s\n", kn_sentence((int32_t)code)), exit(1);
    return code;
}

static void *memory(int64_t size) { return aligned_alloc(64, ((size_t)size + 64) / 64 * 64); }

int main(int argc, char **argv) {
    FILE *file = argc == 3 ? fopen(argv[1], "rb") : NULL;
    if (!file) return fprintf(stderr, "usage: predict MODEL.knx FPS < numbers\n"), 2;
    fseek(file, 0, SEEK_END);
    const long n_bytes = ftell(file);
    rewind(file);
    void *bytes = memory(n_bytes);
    if (!bytes || fread(bytes, 1, (size_t)n_bytes, file) != (size_t)n_bytes) return perror(argv[1]), 2;
    int64_t size = checked(kn_open_size(bytes, n_bytes));
    const kn_model *model;
    checked(kn_open(bytes, n_bytes, memory(size), size, &model));
    kn_facts facts;
    kn_describe(model, &facts);
    const int width = 3 * facts.n_joints, most = 1000 * width;
    float *joints = calloc((size_t)most, sizeof(float));
    int count = 0;
    while (joints && count < most && scanf("%f", joints + count) == 1) ++count; /* reads nan */
    size = checked(kn_predict_size(model, count / width));
    double *decisions = calloc((size_t)facts.n_labels, 8), *shares = calloc((size_t)facts.n_labels, 8);
    kn_answer answer;
    checked(kn_predict(model, joints, count / width, atof(argv[2]), memory(size), size, decisions, shares,
                       &answer));
    printf("%s%s\n", kn_label(model, answer.label), answer.is_unknown ? " (none of these)" : "");
    for (int k = 0; k < facts.n_labels; ++k)
        printf("%-20s %+.6f %.6f\n", kn_label(model, k), decisions[k], shares[k]);
    return 0;
}
