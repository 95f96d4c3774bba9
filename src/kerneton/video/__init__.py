"""Poses of bodies and hands from films and cameras, estimated on the CPU.

A picture goes through four steps: a detector finds people or palms (`detection`), a square region
is cut out around each and turned upright (`regions`), a network places the landmarks in it
(`bodies`, `hands`), and the landmarks say where the region of the next picture lies (`estimator`).
The networks are MediaPipe's (`models`). PyAV and LiteRT are imported when a film or a camera is
opened, never before.
"""
