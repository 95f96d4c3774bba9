/* libkerneton: a trained recogniser of Kerneton without Python.
 *
 * A model is the bytes of a file that `kerneton export` wrote. Nothing here allocates, starts a thread or keeps a global:
 * the caller gives memory and may use many models at once. The bytes of a model and the memory given to kn_open must stay
 * as they are, at addresses divisible by 64, as long as the model is used. A model may be used by several threads at once,
 * each with its own room. All functions return KN_OK or a negative code, which kn_sentence puts into words.
 *
 *     int64_t size = kn_open_size(bytes, n_bytes);          // memory for the model
 *     kn_open(bytes, n_bytes, memory, size, &model);
 *     int64_t room_size = kn_predict_size(model, n_frames); // working memory for recordings of up to so many frames
 *     kn_predict(model, joints, n_frames, fps, room, room_size, decisions, probabilities, &answer);
 */
#ifndef KERNETON_H
#define KERNETON_H

#include <stdint.h>

#if defined(KN_PUBLIC) /* the versions for levels of a processor, inside the library */
#elif defined(_WIN32) && defined(KN_BUILDS_LIBRARY)
#define KN_PUBLIC __declspec(dllexport)
#elif defined(_WIN32)
#define KN_PUBLIC __declspec(dllimport)
#else
#define KN_PUBLIC __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

#ifndef KERNETON_CORE_H
enum { KN_OK = 0 };
#endif
enum {
    KN_NO_MODEL = -1,          /* the bytes are no exported model */
    KN_NEWER_MODEL = -2,       /* the model is of a newer version than this library */
    KN_DAMAGED_MODEL = -3,     /* the model was truncated or changed */
    KN_TOO_LITTLE_ROOM = -4,   /* less memory was given than the size functions say */
    KN_NO_FRAMES = -5,         /* no frames, or more than KN_MOST_FRAMES */
    KN_NOT_A_NUMBER = -6,      /* a joint is infinite or beyond 1e6 metres */
    KN_MISSING_JOINT = -7,     /* a joint that the model needs is missing in every frame */
    KN_NO_RATE = -8,           /* the model knows seconds, so it needs frames a second between 0.1 and 10,000 */
    KN_NOT_COMPUTED = -9,      /* the answer is no finite number, in practice never */
    KN_NO_SUCH_LABEL = -10,    /* a label's number outside 0 .. n_labels - 1 */
    KN_CLOCK_BACK = -11        /* a frame of a stream is older than the one before */
};
enum { KN_MOST_FRAMES = 100000 };

typedef struct kn_model kn_model;

typedef struct {
    int32_t n_labels;
    int32_t n_joints;
    int32_t calibrated;      /* 1 if there are probabilities and "none of these" */
    int32_t needs_rate;      /* 1 if recordings need frames a second */
    double threshold;        /* of the score of being unknown */
    double usual_seconds;    /* median length of the training recordings; frames if needs_rate is 0 */
} kn_facts;

typedef struct {
    int32_t label;           /* of the largest decision value */
    int32_t is_unknown;      /* 1 if unlike all labels; always 0 without calibration */
    double unknown;          /* score of being unknown, 0 to 1 */
} kn_answer;

/* What an error code means, in English; never null. */
KN_PUBLIC const char *kn_sentence(int32_t code);

/* Bytes of memory that kn_open needs for a model, or a negative code. */
KN_PUBLIC int64_t kn_open_size(const void *bytes, int64_t n_bytes);
KN_PUBLIC int32_t kn_open(const void *bytes, int64_t n_bytes, void *memory, int64_t size, const kn_model **model);
KN_PUBLIC int32_t kn_describe(const kn_model *model, kn_facts *facts);
/* Names in UTF-8, ended by zero; null outside the range. Joints are in the order that predictions expect. */
KN_PUBLIC const char *kn_label(const kn_model *model, int32_t label);
KN_PUBLIC const char *kn_joint(const kn_model *model, int32_t joint);
/* The joint from which the bone to this joint starts, or -1. */
KN_PUBLIC int32_t kn_parent(const kn_model *model, int32_t joint);

/* One recording: joints (n_frames, n_joints, 3) in metres, y up, NaN where missing; fps is 0 if unknown. decisions and
 * probabilities (n_labels); probabilities may be null and are not written without calibration. */
KN_PUBLIC int64_t kn_predict_size(const kn_model *model, int32_t n_frames);
KN_PUBLIC int32_t kn_predict(const kn_model *model, const float *joints, int32_t n_frames, double fps, void *room,
                             int64_t room_size, double *decisions, double *probabilities, kn_answer *answer);

/* What each joint contributes to the decision value of a label, (n_joints); with *intercept they sum to it. Needs the same
 * room as kn_predict. */
KN_PUBLIC int32_t kn_explain(const kn_model *model, const float *joints, int32_t n_frames, double fps, int32_t label,
                             void *room, int64_t room_size, double *contributions, double *intercept);

/* --- live -------------------------------------------------------------------------------------------------- */

typedef struct kn_live kn_live;

typedef struct {
    double window;     /* seconds that the current label looks back; 0 for the usual length of training */
    double still;      /* seconds without movement that end a movement; 0 for 0.6 */
    double fps;        /* frames a second at which poses are kept; 0 for 30 */
} kn_live_options;

typedef struct {
    int32_t has_label;   /* 1 once there are enough frames for a current label */
    kn_answer current;   /* of the last seconds */
    int32_t has_segment; /* 1 when a movement has just ended: move, then stand still */
    kn_answer segment;   /* of that movement */
    double begin, end;   /* of that movement, in the stream's seconds */
    int32_t moving;      /* 1 while somebody moves */
} kn_event;

KN_PUBLIC int64_t kn_live_size(const kn_model *model, const kn_live_options *options);
KN_PUBLIC int32_t kn_live_open(const kn_model *model, const kn_live_options *options, void *memory, int64_t size,
                               kn_live **live);
/* One pose (n_joints, 3) at a time in seconds. decisions and probabilities (n_labels) of the current label, or null. */
KN_PUBLIC int32_t kn_live_push(kn_live *live, double seconds, const float *joints, double *decisions,
                               double *probabilities, kn_event *event);

#ifdef __cplusplus
}
#endif
#endif
