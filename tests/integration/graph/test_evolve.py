"""Evolution: purified, joined once, version by version, whoever else writes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from proas.graph.client import Client
from proas.graph.rows import StateRow, SuccessRow, TransitionRow, VersionRow
from proas.graph.store import ReferenceGraph
from proas.rollouts import Rollout, RolloutBatch
from proas.subgoals import Ladder


def batch(*rollouts: Rollout) -> RolloutBatch:
    return RolloutBatch(tuple(rollouts))


def everything(graph: ReferenceGraph) -> list[list[object]]:
    return [list(graph.rows(kind)) for kind in (StateRow, TransitionRow, SuccessRow, VersionRow)]


def test_a_success_makes_the_next_version(graph, corridor):
    graph.add([corridor.graph("t1")])
    report = graph.evolve(batch(corridor.win("w", "t1")), run="run-1")
    assert (report.version_before, report.version) == (0, 1)
    assert (report.successes, report.new_tasks) == (1, 0)
    assert (report.added_states, report.added_transitions) == (0, 14)  # the last step is one of the plan's
    assert graph.info().version == 1
    versions = {row.k: (row.run, row.added_states, row.added_transitions) for row in graph.rows(VersionRow)}
    assert versions == {0: ("build", 30, 29), 1: ("run-1", 0, 14)}
    [success] = graph.rows(SuccessRow)
    assert (success.rollout, success.run, success.since, len(success.transitions)) == ("w", "run-1", 1, 15)
    assert graph.verify().ok


def test_the_same_batch_again_changes_nothing(graph, corridor):
    graph.add([corridor.graph("t1")])
    sent = batch(corridor.win("a", "t1"), corridor.win("b", "t1", 3), corridor.rollout("lost", "t1", [0, 1]))
    first = graph.evolve(sent)
    before = everything(graph)
    again = graph.evolve(sent)
    assert everything(graph) == before
    assert (first.successes, first.known, first.failed) == (2, 0, 1)
    assert (again.successes, again.known, again.version_before, again.version) == (0, 2, 1, 1)


def test_what_is_there_keeps_its_origin_and_gains_support(graph, corridor):
    graph.add([corridor.graph("t1")])
    for k in (1, 2):
        graph.evolve(batch(corridor.win(f"w{k}", "t1", 1)))
    edges = graph.read("t1").transitions
    assert {(edge.source, edge.since, edge.support) for edge in edges} == {("plan", 0, 3)}


def test_only_new_successes_of_an_overlapping_batch_count(graph, corridor):
    graph.evolve(batch(corridor.win("a", "t1")))
    report = graph.evolve(batch(corridor.win("a", "t1"), corridor.win("b", "t1")))
    assert (report.successes, report.known, report.added_transitions, report.version) == (1, 1, 0, 2)
    assert {edge.support for edge in graph.read("t1").transitions} == {2}
    assert {edge.since for edge in graph.read("t1").transitions} == {1}


def test_support_counts_a_success_once_however_often_it_takes_a_transition(graph, corridor):
    places = [0, 1, 2, 1, 2, *range(3, corridor.length)]
    graph.evolve(batch(corridor.rollout("w", "t1", places, success=True)))
    assert {edge.support for edge in graph.read("t1").transitions} == {1}


def test_the_paper_keeps_detours_and_loop_erasure_does_not(connection, graph, corridor, graph_name):
    places = [0, 1, 2, 2, 5, 2, *range(3, corridor.length)]
    walk = corridor.rollout("w", "t1", places, success=True, invalid=[2])
    paper = graph.evolve(batch(walk), purification="paper")
    assert (paper.dropped_invalid, paper.dropped_self_loops, paper.dropped_loops) == (1, 0, 0)
    assert paper.added_transitions == corridor.length - 1 + 2
    other = ReferenceGraph.create(connection, f"{graph_name[:80]}-b")
    try:
        erased = other.evolve(batch(walk), purification="loop_erased")
        assert (erased.dropped_invalid, erased.dropped_loops) == (1, 2)
        assert erased.added_transitions == corridor.length - 1
    finally:
        other.drop()


def test_a_step_that_falls_back_is_never_stored(graph, corridor):
    graph.add([corridor.graph("t1")])
    walk = corridor.rollout("w", "t1", [0, *range(1, 12), 8, *range(9, corridor.length)], success=True)
    report = graph.evolve(batch(walk))
    assert (report.dropped_regress, report.dropped_loops, report.added_transitions) == (1, 0, 0)
    assert graph.verify().ok


def test_failures_and_rollouts_without_states_teach_nothing(graph, corridor):
    bare = corridor.win("bare", "t1").model_copy(update={"start": None})
    report = graph.evolve(batch(bare, corridor.rollout("lost", "t1", [0, 1])))
    assert (report.successes, report.stateless, report.failed) == (0, 1, 1)
    assert report.version == 0
    assert list(graph.tasks()) == []


def test_a_new_task_takes_the_ladder_it_is_given(graph, corridor):
    def ladder_of(_: Rollout) -> Ladder:
        return corridor.ladder()

    report = graph.evolve(batch(corridor.win("w", "new")), ladder_of=ladder_of)
    assert report.new_tasks == 1
    assert graph.read("new").ladder == corridor.ladder()
    assert graph.read("new").task.goal == "reach the end"
    graph.evolve(batch(corridor.win("w2", "newer")))
    assert [subgoal.description for subgoal in graph.read("newer").ladder.subgoals] == ["start", "reach the end"]
    assert graph.verify().ok


def test_a_success_that_contradicts_the_task_is_kept_aside(graph, corridor):
    graph.add([corridor.graph("t1")])
    elsewhere = corridor.rollout("elsewhere", "t1", range(3, corridor.length), success=True)
    report = graph.evolve(batch(elsewhere, corridor.win("w", "t1")))
    assert report.successes == 1
    assert [(reject.id, bool(reject.reason)) for reject in report.rejected] == [("elsewhere", True)]
    later = graph.evolve(batch(elsewhere))
    assert (later.successes, later.version) == (0, 1)


def test_a_trainer_can_set_the_version(graph, corridor):
    quiet = graph.evolve(batch(), version=3, run="r")
    assert (quiet.version_before, quiet.version) == (0, 3)
    assert graph.evolve(batch(), version=3).version == 3
    report = graph.evolve(batch(corridor.win("w", "t1")), version=5)
    assert report.version == 5
    assert {edge.since for edge in graph.read("t1").transitions} == {5}
    assert graph.evolve(batch(corridor.win("w", "t1")), version=5).version == 5
    assert graph.evolve(batch(corridor.win("late", "t1")), version=2).version == 6
    assert [row.k for row in graph.rows(VersionRow)] == [0, 3, 5, 6]
    assert graph.verify().ok


def test_many_trainers_lose_and_double_nothing(connection, graph, corridor):
    graph.add([corridor.graph(f"t{i}") for i in range(4)])

    def train(worker: int) -> list[int]:
        mine = ReferenceGraph(connection, graph.name)
        wins = [corridor.win(f"w{worker}-{k}", f"t{k % 4}", 2 + k % 3) for k in range(6)]
        return [mine.evolve(batch(win), run=f"run-{worker}").version for win in wins]

    with ThreadPoolExecutor(8) as pool:
        versions = sorted(k for made in pool.map(train, range(8)) for k in made)
    assert versions == list(range(1, 49))
    assert graph.stats().successes == 48
    support = {edge.key: edge.support for i in range(4) for edge in graph.read(f"t{i}").transitions}
    taken = [key for row in graph.rows(SuccessRow) for key in row.transitions]
    built = {edge.key for i in range(4) for edge in corridor.graph(f"t{i}").transitions}
    assert support == {key: taken.count(key) + (key in built) for key in support}
    assert graph.verify().ok


def test_the_same_batch_from_many_trainers_counts_once(connection, graph, corridor):
    sent = batch(*(corridor.win(f"w{i}", f"t{i}") for i in range(4)))

    def train(_: int) -> int:
        return ReferenceGraph(connection, graph.name).evolve(sent).successes

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(train, range(8))) == [0] * 7 + [4]
    assert graph.info().version == 1
    assert graph.verify().ok


def test_an_answer_that_was_lost_is_reported_as_it_was(graph, corridor, monkeypatch):
    """The transaction commits, the answer does not arrive: the next attempt finds it done and says what was done."""
    attempt = Client._attempt
    lost = []

    def lossy(self, driver, access, work):
        answer = attempt(self, driver, access, work)
        if access == "WRITE" and not lost:
            lost.append(answer)
            raise ConnectionResetError(104, "connection reset by peer")
        return answer

    monkeypatch.setattr(Client, "_attempt", lossy)
    report = graph.evolve(batch(corridor.win("a", "t1"), corridor.win("b", "t1")))
    assert len(lost) == 1
    assert (report.version_before, report.version, report.successes, report.added_transitions) == (0, 1, 2, 15)
    assert graph.stats().successes == 2
    assert graph.verify().ok


def test_growth_by_task_and_subgoal(graph, corridor):
    graph.add([corridor.graph("t1"), corridor.graph("t2", 3)])
    graph.evolve(batch(corridor.win("a", "t1", 2)), run="first")
    graph.evolve(batch(corridor.win("b", "t2", 2)), run="second")
    whole, second = graph.diff(0, 2), graph.diff(1, 2)
    assert {growth.task for growth in second.tasks} == {"t2"}
    assert second.added_transitions == sum(growth.added_transitions for growth in second.tasks) == 15
    assert whole.added_transitions == 14 + 15
    assert [version.run for version in whole.versions] == ["first", "second"]
    assert [growth.index for growth in second.tasks] == sorted(growth.index for growth in second.tasks)
    assert second.tasks[0].description == "start"
    with pytest.raises(Exception, match="not before"):
        graph.diff(2, 2)
