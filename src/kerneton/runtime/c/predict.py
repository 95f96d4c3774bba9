"""Predictions in Python without Kerneton and NumPy: python predict.py LIBRARY MODEL.knx FPS <
numbers.
"""

import ctypes
import sys


class Facts(ctypes.Structure):
    _fields_ = [(n, ctypes.c_int32) for n in ("n_labels", "n_joints", "calibrated", "needs_rate")]
    _fields_ += [("threshold", ctypes.c_double), ("usual_seconds", ctypes.c_double)]


class Answer(ctypes.Structure):
    _fields_ = [
        ("label", ctypes.c_int32),
        ("is_unknown", ctypes.c_int32),
        ("unknown", ctypes.c_double),
    ]


def aligned(size):
    raw = ctypes.create_string_buffer(size + 64)
    return raw, ctypes.c_void_p(-(-ctypes.addressof(raw) // 64) * 64)


def checked(code):
    if code < 0:
        sys.exit(kn.kn_sentence(ctypes.c_int32(code)).decode())
    return code


kn = ctypes.CDLL(sys.argv[1])
kn.kn_sentence.restype = kn.kn_label.restype = ctypes.c_char_p
kn.kn_open_size.restype = kn.kn_predict_size.restype = ctypes.c_int64
content = open(sys.argv[2], "rb").read()
kept, at = aligned(len(content))
ctypes.memmove(at, content, len(content))
size = ctypes.c_int64(checked(kn.kn_open_size(at, ctypes.c_int64(len(content)))))
memory, place = aligned(size.value)
model, facts, answer = ctypes.c_void_p(), Facts(), Answer()
checked(kn.kn_open(at, ctypes.c_int64(len(content)), place, size, ctypes.byref(model)))
kn.kn_describe(model, ctypes.byref(facts))
numbers = [float(word) for word in sys.stdin.read().split()]
joints, frames = (ctypes.c_float * len(numbers))(*numbers), len(numbers) // (3 * facts.n_joints)
size = ctypes.c_int64(checked(kn.kn_predict_size(model, frames)))
room, place = aligned(size.value)
decisions, shares = (ctypes.c_double * facts.n_labels)(), (ctypes.c_double * facts.n_labels)()
rate = ctypes.c_double(float(sys.argv[3]))
checked(
    kn.kn_predict(model, joints, frames, rate, place, size, decisions, shares, ctypes.byref(answer))
)
print(kn.kn_label(model, answer.label).decode(), *(f"{value:+.6f}" for value in decisions))
