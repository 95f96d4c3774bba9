// libkerneton for x86-64: the functions of the header, each in the version for the level of this processor.
//
// A model and a live view begin with the level that opened them, so nothing global remembers it.
#define KN_BUILDS_LIBRARY
#include "kerneton.h"

extern "C" int32_t kn_processor_level(void);

#define KN_DECLARE(result, name, ...)             \
    extern "C" result name##_v2(__VA_ARGS__);     \
    extern "C" result name##_v3(__VA_ARGS__);     \
    extern "C" result name##_v4(__VA_ARGS__)
#define KN_CHOOSE(level, name, ...) \
    ((level) >= 4 ? name##_v4(__VA_ARGS__) : (level) == 3 ? name##_v3(__VA_ARGS__) : name##_v2(__VA_ARGS__))
#define KN_OF(opened) (*(const int32_t *)(opened))

KN_DECLARE(const char *, kn_sentence, int32_t);
KN_DECLARE(int64_t, kn_open_size, const void *, int64_t);
KN_DECLARE(int32_t, kn_open, const void *, int64_t, void *, int64_t, const kn_model **);
KN_DECLARE(int32_t, kn_describe, const kn_model *, kn_facts *);
KN_DECLARE(const char *, kn_label, const kn_model *, int32_t);
KN_DECLARE(const char *, kn_joint, const kn_model *, int32_t);
KN_DECLARE(int32_t, kn_parent, const kn_model *, int32_t);
KN_DECLARE(int64_t, kn_predict_size, const kn_model *, int32_t);
KN_DECLARE(int32_t, kn_predict, const kn_model *, const float *, int32_t, double, void *, int64_t, double *, double *, kn_answer *);
KN_DECLARE(int32_t, kn_explain, const kn_model *, const float *, int32_t, double, int32_t, void *, int64_t, double *, double *);
KN_DECLARE(int64_t, kn_live_size, const kn_model *, const kn_live_options *);
KN_DECLARE(int32_t, kn_live_open, const kn_model *, const kn_live_options *, void *, int64_t, kn_live **);
KN_DECLARE(int32_t, kn_live_push, kn_live *, double, const float *, double *, double *, kn_event *);

KN_PUBLIC const char *kn_sentence(int32_t code) { return kn_sentence_v2(code); }

KN_PUBLIC int64_t kn_open_size(const void *bytes, int64_t n_bytes) {
    return KN_CHOOSE(kn_processor_level(), kn_open_size, bytes, n_bytes);
}

KN_PUBLIC int32_t kn_open(const void *bytes, int64_t n_bytes, void *memory, int64_t size, const kn_model **model) {
    return KN_CHOOSE(kn_processor_level(), kn_open, bytes, n_bytes, memory, size, model);
}

KN_PUBLIC int32_t kn_describe(const kn_model *model, kn_facts *facts) { return kn_describe_v2(model, facts); }
KN_PUBLIC const char *kn_label(const kn_model *model, int32_t label) { return kn_label_v2(model, label); }
KN_PUBLIC const char *kn_joint(const kn_model *model, int32_t joint) { return kn_joint_v2(model, joint); }
KN_PUBLIC int32_t kn_parent(const kn_model *model, int32_t joint) { return kn_parent_v2(model, joint); }

KN_PUBLIC int64_t kn_predict_size(const kn_model *model, int32_t n_frames) {
    return KN_CHOOSE(KN_OF(model), kn_predict_size, model, n_frames);
}

KN_PUBLIC int32_t kn_predict(const kn_model *model, const float *joints, int32_t n_frames, double fps, void *room,
                             int64_t room_size, double *decisions, double *probabilities, kn_answer *answer) {
    return KN_CHOOSE(KN_OF(model), kn_predict, model, joints, n_frames, fps, room, room_size, decisions, probabilities, answer);
}

KN_PUBLIC int32_t kn_explain(const kn_model *model, const float *joints, int32_t n_frames, double fps, int32_t label,
                             void *room, int64_t room_size, double *contributions, double *intercept) {
    return KN_CHOOSE(KN_OF(model), kn_explain, model, joints, n_frames, fps, label, room, room_size, contributions, intercept);
}

KN_PUBLIC int64_t kn_live_size(const kn_model *model, const kn_live_options *options) {
    return KN_CHOOSE(KN_OF(model), kn_live_size, model, options);
}

KN_PUBLIC int32_t kn_live_open(const kn_model *model, const kn_live_options *options, void *memory, int64_t size,
                               kn_live **live) {
    return KN_CHOOSE(KN_OF(model), kn_live_open, model, options, memory, size, live);
}

KN_PUBLIC int32_t kn_live_push(kn_live *live, double seconds, const float *joints, double *decisions, double *probabilities,
                               kn_event *event) {
    return KN_CHOOSE(KN_OF(live), kn_live_push, live, seconds, joints, decisions, probabilities, event);
}
