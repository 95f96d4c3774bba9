"""Without Kerneton and NumPy: python predict.py LIBRARY MODEL.knx FPS < numbers."""

import ctypes as ct
import sys


class Facts(ct.Structure):
    _fields_ = [(n, ct.c_int32) for n in ("n_labels", "n_joints", "calibrated", "needs_rate")]
    _fields_ += [("threshold", ct.c_double), ("usual_seconds", ct.c_double)]


class Answer(ct.Structure):
    _fields_ = [("label", ct.c_int32), ("is_unknown", ct.c_int32), ("unknown", ct.c_double)]


def memory(size):
    kept.append(ct.create_string_buffer(size + 64))
    return ct.c_void_p(-(-ct.addressof(kept[-1]) // 64) * 64)


def checked(code):
    return code if code >= 0 else sys.exit(kn.kn_sentence(code).decode())


kn = ct.CDLL(sys.argv[1])
kept: list[ct.Array] = []
kn.kn_sentence.restype = kn.kn_label.restype = ct.c_char_p
kn.kn_open_size.restype = kn.kn_predict_size.restype = ct.c_int64
content = open(sys.argv[2], "rb").read()
n_bytes, at = ct.c_int64(len(content)), memory(len(content))
ct.memmove(at, content, len(content))
size, model, facts, answer = checked(kn.kn_open_size(at, n_bytes)), ct.c_void_p(), Facts(), Answer()
checked(kn.kn_open(at, n_bytes, memory(size), ct.c_int64(size), ct.byref(model)))
kn.kn_describe(model, ct.byref(facts))
numbers = [float(word) for word in sys.stdin.read().split()]
joints, frames = (ct.c_float * len(numbers))(*numbers), len(numbers) // (3 * facts.n_joints)
size, fps = checked(kn.kn_predict_size(model, frames)), ct.c_double(float(sys.argv[3]))
decisions, shares = (ct.c_double * facts.n_labels)(), (ct.c_double * facts.n_labels)()
room = memory(size), ct.c_int64(size)
checked(kn.kn_predict(model, joints, frames, fps, *room, decisions, shares, ct.byref(answer)))
print(kn.kn_label(model, answer.label).decode(), *(f"{value:+.6f}" for value in decisions))
