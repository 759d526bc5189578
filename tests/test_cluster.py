"""The same answers on a cluster of two processes of this machine."""

import dask
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from pandas.testing import assert_frame_equal
from partitioned import DOWN, WINDOW, assert_same_answers, in_dask, in_files, mixed

import resonate_lab as rl
from resonate_lab.errors import FleetError
from resonate_lab.whatif import partitions

FRAME = mixed(300, seed=3)
CUTS = range(20, 300, 40)


@pytest.fixture(scope="module")
def cluster():
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def test_a_dask_frame_is_answered_as_the_frame_in_memory(cluster):
    assert_same_answers(FRAME, in_dask(FRAME, CUTS))


def test_a_folder_is_answered_as_the_frame_in_memory_and_on_the_cluster(
    cluster, tmp_path, monkeypatch
):
    folder = in_files(FRAME, CUTS, tmp_path)
    # Were a partition asked in this process, it would meet this.
    monkeypatch.setattr(partitions, "_asked", in_this_process)
    with pytest.raises(AssertionError, match="in this process"), dask.config.set(scheduler="sync"):
        rl.load(folder, *WINDOW)
    monkeypatch.undo()
    assert_same_answers(FRAME, folder)


def in_this_process(*_):
    raise AssertionError("in this process")


def test_the_cluster_is_found_and_another_scheduler_has_the_last_word(cluster):
    assert partitions._client() is cluster
    with dask.config.set(scheduler="threads"):
        assert partitions._client() is None


def test_a_refusal_of_a_worker_is_the_refusal(cluster, tmp_path):
    frame = FRAME.copy()
    frame.loc[130, "promise_timeout"] = "-1h"
    with pytest.raises(FleetError, match=r"^partition 4 of 8: promise_timeout of row 31 of"):
        rl.what_if(in_dask(frame, CUTS), DOWN)
    frame = FRAME.assign(name=[f"s{n % 299}" for n in range(300)])
    with pytest.raises(
        FleetError, match=r"the id 's0' stands in row 1 of 'part-0\.parquet' and row 40"
    ):
        rl.load(in_files(frame, CUTS, tmp_path), *WINDOW)


def test_ctrl_c_keeps_what_is_finished_and_calls_the_rest_off(cluster):
    def progress(numbers):
        for number in numbers:
            if number == 3:
                raise KeyboardInterrupt
            yield number

    frame = FRAME.assign(name=[f"s{n}" for n in range(300)])
    with pytest.warns(UserWarning, match="3 of 8 partitions"):
        found = rl.load(in_dask(frame, CUTS), *WINDOW, progress=progress)
    # Which three were finished is theirs to say; each is counted once and whole.
    finished = sorted(found._asked._gathered.rows)
    edges = [0, *CUTS, 300]
    kept = pd.concat([frame.iloc[edges[k] : edges[k + 1]] for k in finished])
    expected = rl.load(kept, *WINDOW)
    assert found.tolist() == expected.tolist()
    columns = ["schedule_id", "cron", "reason"]
    assert_frame_equal(found.refused[columns], expected.refused[columns])
    assert cluster.submit(sum, [1, 2]).result() == 3
