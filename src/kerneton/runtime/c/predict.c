/* Predict the label of one recording: predict MODEL.knx FPS < numbers, a line of joints x y z for each frame.
 *
 *     cc predict.c -I.. -L../linux-x86_64 -lkerneton -Wl,-rpath,../linux-x86_64 -o predict
 */
#include <stdio.h>
#include <stdlib.h>

#include "kerneton.h"

static void *read_all(const char *path, int64_t *size) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END)) return NULL;
    *size = ftell(file);
    rewind(file);
    void *bytes = aligned_alloc(64, (size_t)(*size + 63) / 64 * 64);
    if (bytes && fread(bytes, 1, (size_t)*size, file) != (size_t)*size) bytes = NULL;
    fclose(file);
    return bytes;
}

static int fail(int64_t code) {
    fprintf(stderr, "%s\n", kn_sentence((int32_t)code));
    return 1;
}

int main(int argc, char **argv) {
    int64_t n_bytes = 0, size;
    void *bytes = argc == 3 ? read_all(argv[1], &n_bytes) : NULL;
    if (!bytes) return fprintf(stderr, "usage: predict MODEL.knx FPS < numbers\n"), 2;
    if ((size = kn_open_size(bytes, n_bytes)) < 0) return fail(size);
    const kn_model *model;
    int32_t code = kn_open(bytes, n_bytes, aligned_alloc(64, (size_t)(size + 63) / 64 * 64), size, &model);
    if (code) return fail(code);
    kn_facts facts;
    kn_describe(model, &facts);
    float *joints = malloc(sizeof(float) * 3 * 1000 * (size_t)facts.n_joints);
    int count = 0;
    while (count < 3000 * facts.n_joints && scanf("%f", joints + count) == 1) ++count; /* scanf reads nan */
    const int32_t n_frames = count / (3 * facts.n_joints);
    if ((size = kn_predict_size(model, n_frames)) < 0) return fail(size);
    double *decisions = calloc((size_t)facts.n_labels, sizeof(double)), *shares = calloc((size_t)facts.n_labels, sizeof(double));
    kn_answer answer;
    void *room = aligned_alloc(64, (size_t)(size + 63) / 64 * 64);
    code = kn_predict(model, joints, n_frames, atof(argv[2]), room, size, decisions, shares, &answer);
    if (code) return fail(code);
    printf("%s%s\n", kn_label(model, answer.label), answer.is_unknown ? " (unlike anything in training)" : "");
    for (int32_t k = 0; k < facts.n_labels; ++k)
        printf("%-20s %+.6f %.6f\n", kn_label(model, k), decisions[k], shares[k]);
    return 0;
}
