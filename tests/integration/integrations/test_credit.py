"""One run's use of the graph: versions are iterations, restarts resume, a lost database follows the policy."""

from __future__ import annotations

import pickle
import socket

import pytest

from proas.errors import GraphConflict, GraphNotFound, GraphUnavailable, UsageError
from proas.graph.store import ReferenceGraph
from proas.integrations.credit import CreditRun, CreditSettings
from proas.rollout_files import read_rollouts
from proas.rollouts import RolloutBatch
from proas.shaping import preset, shape


@pytest.fixture
def values(seeded, monkeypatch):
    """Settings of a run over the test's graph, as a trainer's configuration holds them."""
    connection = seeded.connection
    monkeypatch.setenv("NEO4J_PASSWORD", connection.password.get_secret_value())
    monkeypatch.setenv("NEO4J_USERNAME", connection.username)
    monkeypatch.setenv("NEO4J_DATABASE", connection.database)
    return {"graph": seeded.name, "run": f"{seeded.name}.run", "uri": connection.uri}


@pytest.fixture
def start():
    """Starts runs and closes them."""
    runs = []

    def make(values, done=0, **more):
        run = CreditRun(CreditSettings.of({**values, **more}))
        run.open(iterations_done=done)
        runs.append(run)
        return run

    yield make
    for run in runs:
        run.close()


def based(rollouts, value=1.0):
    """A batch with base advantages: positive for successes."""
    made = []
    for rollout in rollouts:
        sign = value if rollout.success else -value
        steps = tuple(step.model_copy(update={"base_advantage": sign}) for step in rollout.steps)
        made.append(rollout.model_copy(update={"steps": steps}))
    return RolloutBatch(tuple(made))


def content(graph):
    return [(t.task, sorted((e.key, e.support) for e in t.transitions)) for t in graph.iter_task_graphs()]


def test_labels_read_the_version_before_and_successes_make_the_next(values, start, more_rollouts):
    run = start(values)
    for iteration in (1, 2, 3):
        batch = based(more_rollouts(iteration))
        credited = run.credit(batch, iteration)
        run.wait()
        assert {r.version for r in credited.shaped.batch} == {iteration - 1}
        assert run.layer.info().version == iteration
        wanted = shape(run.layer.label(batch, version=iteration - 1), preset("paper").updated({"algorithm": "given"}))
        assert undistanced(credited.shaped.batch) == undistanced(wanted.batch)


def undistanced(batch):
    """Rollouts without distances: those of an earlier version are told only where they have not changed since."""
    gone = {"distance_before": None, "distance": None}
    return [r.model_copy(update={"steps": tuple(s.model_copy(update=gone) for s in r.steps)}) for r in batch]


def test_evolve_first_reads_what_was_just_learnt(values, start, more_rollouts):
    run = start(values, preset="membership")
    credited = run.credit(based(more_rollouts(1)), 1)
    assert {r.version for r in credited.shaped.batch} == {1}
    assert all(r.covered for r in credited.shaped.batch if r.success)


def test_distance_fades(values, start, more_rollouts):
    run = start(values, preset="recommended", distance_fades=2)
    for iteration, weight in ((1, 1.0), (2, 0.5), (3, 0.0), (4, 0.0)):
        batch = based(more_rollouts(iteration))
        credited = run.credit(batch, iteration)
        config = preset("recommended").updated({"distance_weight": weight}).over_given_advantages()
        assert advantages(credited.shaped.batch) == advantages(shape(run.layer.label(batch), config).batch)


def advantages(batch):
    return [[step.advantage for step in rollout.steps] for rollout in batch]


def test_an_iteration_without_a_success_is_a_version_too(values, start, more_rollouts):
    run = start(values)
    run.credit(based([r for r in more_rollouts(1) if not r.success]), 1)
    run.wait()
    assert run.layer.info().version == 1
    assert run.layer.stats().successes == 0


def test_a_run_that_resumes_is_the_run_that_it_was(values, start, more_rollouts):
    whole = start({**values, "run": values["run"] + ".whole"})
    for iteration in (1, 2, 3, 4):
        whole.credit(based(more_rollouts(iteration)), iteration)
    whole.close()
    # The other one is cut off after the third iteration; its checkpoint holds two.
    cut = start(values)
    for iteration in (1, 2, 3):
        cut.credit(based(more_rollouts(iteration + (iteration == 3) * 50)), iteration)
    cut.close()
    again = start(values, done=2)
    assert again.layer.info().version == 2
    for iteration in (3, 4):
        again.credit(based(more_rollouts(iteration)), iteration)
    again.close()
    assert content(again.layer) == content(whole.layer)
    assert again.layer.verify().ok


def test_a_new_run_does_not_take_an_old_one_s_layer(values, start, more_rollouts):
    start(values).credit(based(more_rollouts(1)), 1)
    with pytest.raises(GraphConflict, match="has learnt from 1 iterations already"):
        _wait_and_start(values, start)
    assert start(values, existing="rewind").layer.info().version == 0


def _wait_and_start(values, start):
    layer = CreditSettings.of(values)
    graph = ReferenceGraph(layer.connection(), values["run"])
    for _ in range(200):
        if graph.info().version:
            break
    start(values)


def test_a_checkpoint_that_knows_more_than_the_graph(values, start):
    with pytest.raises(GraphNotFound, match=r"resumes after iteration 7.* knows only 0"):
        start(values, done=7)


def test_the_base_is_only_read(values, start, seeded, more_rollouts):
    before = content(seeded)
    run = start(values)
    run.credit(based(more_rollouts(1)), 1)
    run.close()
    assert content(seeded) == before
    assert content(run.layer) != before


def test_a_static_graph_has_no_layer(values, start, seeded, more_rollouts):
    run = start({**values, "run": None}, settings={"evolve": False})
    credited = run.credit(based(more_rollouts(1)), 1)
    assert run.layer.name == seeded.name
    assert {r.version for r in credited.shaped.batch} == {0}
    assert seeded.info().layers == ()


def test_without_a_graph(start, more_rollouts):
    run = start({"settings": {"verdicts": "loop_mask"}})
    metrics = run.credit(based(more_rollouts(1)), 1).metrics
    assert run.layer is None
    assert 0 < metrics["proas/mask_rate"] < 1


def test_rollouts_are_kept_where_asked(values, start, more_rollouts, tmp_path):
    run = start(values, rollout_dir=tmp_path / "kept")
    credited = run.credit(based(more_rollouts(1)), 1)
    read = read_rollouts(tmp_path / "kept" / "iteration-00001.jsonl")
    assert list(read) == list(credited.shaped.batch)


def _closed_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def test_a_database_that_is_not_there(values, start):
    lost = {**values, "uri": f"bolt://127.0.0.1:{_closed_port()}", "retry_deadline": 0.2}
    with pytest.raises(GraphUnavailable):
        start(lost)


@pytest.mark.parametrize("name", ["paper", "membership"])
def test_a_database_that_goes_away(values, start, more_rollouts, name, monkeypatch):
    run = start(values, preset=name, on_failure="passthrough", retry_deadline=0.2)
    away = CreditSettings.of({**values, "uri": f"bolt://127.0.0.1:{_closed_port()}", "retry_deadline": 0.2})
    here = run.layer
    monkeypatch.setattr(run, "_layer", ReferenceGraph(away.connection(), values["run"]))
    batch = based(more_rollouts(1))
    credited = run.credit(batch, 1)
    assert (credited.weights == 1).all()
    assert credited.metrics["proas/passed_through_rollouts"] == len(batch)
    # It comes back: what was owed is learnt with the next iteration's successes, and nothing twice.
    monkeypatch.setattr(run, "_layer", here)
    later = based(more_rollouts(2))
    run.credit(later, 2)
    run.close()
    won = [r for r in (*batch, *later) if r.success]
    assert here.info().version == 2
    assert here.stats().successes == len(won)
    assert run.credit(based(more_rollouts(3)), 3).metrics["proas/evolve/failures"] == 1


def test_a_failure_in_the_background_is_raised_at_the_next_iteration(values, start, more_rollouts, monkeypatch):
    run = start(values, retry_deadline=0.2)
    run.credit(based(more_rollouts(1)), 1)
    run.wait()
    away = CreditSettings.of({**values, "uri": f"bolt://127.0.0.1:{_closed_port()}", "retry_deadline": 0.2})
    here = run.layer
    labelled = here.label(based(more_rollouts(2)))
    monkeypatch.setattr(here, "label", lambda batch, **more: labelled)
    monkeypatch.setattr(here, "evolve", ReferenceGraph(away.connection(), values["run"]).evolve)
    run.credit(based(more_rollouts(2)), 2)
    with pytest.raises(GraphUnavailable):
        run.credit(based(more_rollouts(3)), 3)


def test_settings_travel_between_processes(values):
    settings = CreditSettings.of({**values, "settings": {"apr_scope": "all"}})
    assert pickle.loads(pickle.dumps(settings)) == settings
    pickle.dumps(CreditRun(settings))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({}, "need labels, and no graph is named"),
        ({"graph": "g"}, "has no name"),
        ({"graph": "g", "run": "g"}, "cannot have the name of its graph"),
        ({"graph": "no such/name"}, "is not a graph name"),
        ({"graph": "g", "run": "r", "pasword_file": "x"}, "pasword_file"),
        ({"graph": "g", "run": "r", "preset": "best"}, "preset"),
        ({"graph": "g", "run": "r", "settings": {"mask": 1}}, "unknown shaping setting 'mask'"),
        ({"graph": "g", "run": "r", "settings": {"algorithm": "grpo"}}, "set by the trainer"),
        ({"graph": "g", "run": "r", "settings": {"progress_as": "reward"}}, "changes rewards"),
        ({"graph": "g", "run": "r", "retry_deadline": -1}, "retry_deadline"),
        ({"graph": "g", "run": "r", "distance_fades": 9}, "no step gains by distance"),
    ],
    ids=lambda value: "-".join(value) or "nothing" if isinstance(value, dict) else "",
)
def test_settings_that_make_no_sense(wrong, said):
    with pytest.raises(UsageError, match=said):
        CreditSettings.of(wrong)


def test_a_password_file(values, tmp_path, monkeypatch, seeded):
    monkeypatch.setenv("NEO4J_PASSWORD", "not this one")
    file = tmp_path / "password"
    file.write_text(seeded.connection.password.get_secret_value(), encoding="utf-8")
    assert CreditSettings.of({**values, "password_file": str(file)}).connection().password == seeded.connection.password
