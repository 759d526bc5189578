"""manifests: other systems' prints become flat rows, and hostile YAML stays bounded."""

import io
import json
import time

import pytest

from resonate_lab.errors import FleetError
from resonate_lab.whatif import audit, read_fleet

JOB = "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec: {schedule: '@daily'}\n"


def refusal(text, **options):
    with pytest.raises(FleetError) as caught:
        read_fleet(io.StringIO(text), **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_documents_keep_the_line_they_begin_on():
    fleet = read_fleet(io.StringIO(f"{JOB}---\nkind: ConfigMap\n---\n{JOB.replace('a}', 'b}')}"))
    assert fleet["id"].tolist() == ["a", "b"]
    assert fleet["line"].tolist() == [1, 8]
    assert fleet["dialect_guess"].tolist() == ["kubernetes"] * 2


def test_kubectl_json_is_read_like_yaml():
    job = {"kind": "CronJob", "metadata": {"name": "a", "namespace": "n"}}
    job["spec"] = {"schedule": "0 9 * * 1", "timeZone": "Asia/Tokyo", "suspend": True}
    fleet = read_fleet(io.StringIO(json.dumps({"kind": "List", "items": [job]})))
    assert fleet[["id", "cron", "zone", "suspend"]].values.tolist() == [
        ["n/a", "0 9 * * 1", "Asia/Tokyo", True]
    ]


def test_a_job_without_a_schedule_is_a_row_at_fault_and_the_others_are_judged():
    text = f"{JOB}---\nkind: CronJob\nmetadata: {{name: b}}\nspec: 5\n"
    found = audit(read_fleet(io.StringIO(text)))
    assert found["verdict"].tolist() == ["same", "refused"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("kind: ConfigMap\n", "no manifest of kind CronJob"),
        (JOB + "spec: {schedule", "cut off"),
        (JOB.replace("'@daily'", "{{ .Values.cron }}") + "x: {{", "not rendered"),
        (JOB.replace("{schedule: '@daily'}", "\n  schedule: */5 * * * *"), "line 5"),
        (JOB.replace("'@daily'", "*/5 * * * *"), "put quotes round a schedule"),
        (JOB.replace("'@daily'", "{{ .Values.cron }}"), "line 4 of the file object has a mapping"),
        (JOB + "? [a]\n: b\n", "line 5 of the file object has a mapping or a list for a name"),
        (JOB + "---\n" + JOB, "'a' stands in lines 1, 6"),
        ("a: " + "[" * 500, "nested"),
        ("a: " + "[" * 50_000, "nesting depth"),
        ("a: &a x\nb: [" + "*a," * 20_000 + "]\n", "aliases"),
        ("\0", "no YAML"),
    ],
)
def test_a_file_at_fault_is_one_sentence(text, says):
    assert says in refusal(text, format="yaml")


def test_an_alias_bomb_costs_nothing():
    levels = ["l0: &l0 {a: b}"]
    levels += [f"l{n}: &l{n} [{','.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 60)]
    begun = time.perf_counter()
    fleet = read_fleet(io.StringIO("\n".join([JOB.rstrip(), *levels])), format="yaml")
    assert fleet["id"].tolist() == ["a"]
    assert time.perf_counter() - begun < 5


def test_a_node_that_holds_itself_is_read():
    assert len(read_fleet(io.StringIO("---\n" + JOB + "me: &me {me: *me}\n"))) == 1


def test_lists_without_expressions_and_cut_off_pages_say_what_to_run():
    summary = {"Arn": "arn:x", "Name": "n", "GroupName": "default", "Target": {"Arn": "arn:y"}}
    assert "get-schedule --name n" in refusal(json.dumps({"Schedules": [summary]}))
    rule = {"Arn": "arn:x", "Name": "n", "ScheduleExpression": "rate(1 day)"}
    assert "NextToken" in refusal(json.dumps({"Rules": [rule], "NextToken": "t"}))


def test_an_interval_that_airflow_alone_can_say_refuses_its_row_alone():
    monthly = {"__type": "RelativeDelta", "months": 1}
    dags = [{"dag_id": "a", "schedule_interval": monthly}]
    dags += [{"dag_id": "b", "schedule_interval": {"__type": "CronExpression", "value": "@daily"}}]
    found = audit(read_fleet(io.StringIO(json.dumps({"dags": dags}))))
    assert found["verdict"].tolist() == ["refused", "same"]
    assert "RelativeDelta" in found["reason"][0]


def test_columns_of_one_system_name_it():
    aws = read_fleet(io.StringIO("Name,ScheduleExpression\na,rate(1 day)\n"))
    airflow = read_fleet(io.StringIO("dag_id,schedule_interval\na,@daily\n"))
    assert (aws["dialect_guess"][0], airflow["dialect_guess"][0]) == ("aws", "airflow")
    dump = "TRIGGER_NAME,TRIGGER_GROUP,CRON_EXPRESSION,TIME_ZONE_ID\na,b,0 0 9 ? * 2,Asia/Tokyo\n"
    found = audit(read_fleet(io.StringIO(dump)))
    assert found[["reading", "proposed"]].values.tolist() == [["quartz", "0 0 0 ? * 2"]]
