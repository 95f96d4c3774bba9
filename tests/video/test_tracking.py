"""The tracker with a network that is played: people are discs of one colour, so that the truth is
known.
"""

from __future__ import annotations

import numpy as np

from kerneton.video.bodies import Found, SteadyRegion
from kerneton.video.detection import Detection
from kerneton.video.regions import Region
from kerneton.video.tracking import Kind, Tracker

SHAPE = np.array([(0, -40), (-20, -20), (20, -20), (-20, 20), (20, 20), (0, 40)], float)
TRUNK = (1, 2, 3, 4)
COLOURS = {"red": (250, 0, 0), "blue": (0, 0, 250)}


class Played:
    """People at known places; the network answers with whoever is nearest to the middle of the
    region.
    """

    def __init__(self) -> None:
        self.places: dict[str, tuple[float, float]] = {}
        self.searches = 0

    def picture(self) -> np.ndarray:
        pixels = np.full((200, 600, 4), 128, np.uint8)
        for name, (x, y) in self.places.items():  # the last stands in front
            pixels[int(y) - 20 : int(y) + 21, max(0, int(x) - 20) : int(x) + 21, :3] = COLOURS[name]
        return pixels

    def find(self, picture: np.ndarray, region: Region) -> list[Detection]:
        self.searches += 1
        return [
            Detection(np.array([x - 40, y - 40, x + 40, y + 40]), np.array([[x, y]]), 0.9)
            for x, y in self.places.values()
        ]

    def look(self, picture: np.ndarray, region: Region) -> Found:
        best, size = None, 100.0
        for place in self.places.values():
            away = float(np.hypot(place[0] - region.x, place[1] - region.y))
            if away < size / 2 and (best is None or away < best[0]):
                best = (away, place)
        x, y = best[1] if best else (region.x, region.y)
        places = np.column_stack([SHAPE + [x, y], np.zeros(len(SHAPE))])
        presence = 0.9 if best else 0.1
        return Found(places, places / 50, np.ones(len(SHAPE)), presence, Region(x, y, size))


def tracker(played: Played, most: int) -> Tracker:
    def region_of(detection):
        return Region(*detection.points[0], 100.0)

    return Tracker(Kind(played, region_of, played.look, TRUNK), most)


def follow(played, tracks, paths, fps=25):
    """The place of each track at each time, where ``paths`` gives the places of people, None for
    nobody.
    """
    found = []
    for t in range(len(next(iter(paths.values())))):
        played.places = {name: path[t] for name, path in paths.items() if path[t] is not None}
        found.append(
            {
                track.number: tuple(track.found.places[0, :2])
                for track in tracks.push(played.picture(), t / fps)
            }
        )
    return found


def test_a_person_is_followed_without_further_searches():
    played = Played()
    found = follow(played, tracker(played, 1), {"red": [(100 + 5 * t, 100) for t in range(30)]})
    assert [list(seen) for seen in found] == [[0]] * 30
    assert found[-1][0] == (245, 60)
    assert played.searches == 1


def test_nobody_is_nobody():
    played = Played()
    path = [None] * 5 + [(100, 100)] * 5 + [None] * 5
    found = follow(played, tracker(played, 1), {"red": path})
    assert [len(seen) for seen in found] == [0] * 5 + [1] * 5 + [0] * 5


def test_people_who_cross_keep_their_numbers():
    played = Played()
    there, back = [(100 + 8 * t, 100) for t in range(50)], [(500 - 8 * t, 100) for t in range(50)]
    found = follow(played, tracker(played, 2), {"red": there, "blue": back})
    ((left, _), (right, _)) = sorted(found[0].items(), key=lambda pair: pair[1])
    assert {left, right} == {0, 1}
    assert set(found[-1]) == {left, right}
    assert found[-1][left] == (492, 60)
    assert found[-1][right] == (108, 60)
    assert {number for seen in found for number in seen} == {left, right}


def test_who_comes_back_soon_is_the_same_and_who_comes_late_is_not():
    played = Played()
    away = [(100, 100)] * 10 + [None] * 20 + [(130, 100)] * 10
    assert set(follow(played, tracker(played, 1), {"red": away})[-1]) == {0}
    late = [(100, 100)] * 10 + [None] * 80 + [(130, 100)] * 10
    assert set(follow(played, tracker(played, 1), {"red": late})[-1]) == {1}


def test_somebody_else_in_other_colours_is_somebody_else():
    played = Played()
    red = [(100, 100)] * 20 + [None] * 30
    blue = [None] * 30 + [(110, 100)] * 20
    found = follow(played, tracker(played, 2), {"red": red, "blue": blue})
    assert set(found[0]) != set(found[-1])


def test_the_crowd_is_counted():
    played = Played()
    tracks = tracker(played, 1)
    follow(played, tracks, {"red": [(100, 100)] * 2, "blue": [(300, 100)] * 2})
    assert tracks.crowd == 2


def test_the_region_of_a_body_holds_still_while_the_body_does():
    """Trembling is smoothed away, steps are followed within some pictures."""
    steady, rng = SteadyRegion(), np.random.default_rng(0)
    trembling = [Region(100 + x, 100, 200, 0.3) for x in rng.normal(0, 1, 60)]
    seen = [steady(region, t / 30).x for t, region in enumerate(trembling)]
    assert np.std(seen[30:]) < 0.3 * np.std([region.x for region in trembling[30:]])
    for t in range(60, 75):
        last = steady(Region(250, 130, 300, 0.5), t / 30)
    assert np.allclose([last.x, last.y, last.size, last.angle], [250, 130, 300, 0.5], rtol=0.05)


def test_the_region_of_a_body_that_moves_evenly_turns_and_grows_with_it():
    steady = SteadyRegion()
    for t in range(90):
        given = Region(100 + 4 * t, 100, 200 + t, 0.01 * t)
        found = steady(given, t / 30)
    assert abs(found.x - given.x) < 0.05 * given.size
    assert abs(found.angle - given.angle) < 0.1
