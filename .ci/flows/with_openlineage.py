"""Events of OpenLineage as the program sends them, read by OpenLineage's own classes, which are made of its JSON Schema.

Arguments: a folder to work in, and the program.
"""

import http.server
import json
import os
import subprocess
import sys
import threading

from openlineage.client.generated import base
from openlineage.client.generated import error_message_run, job_type_job, output_statistics_output_dataset, parent_run, processing_engine_run, schema_dataset

work, program = sys.argv[1], sys.argv[2]
events = []


class Catalogue(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        events.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(201)
        self.end_headers()

    def log_message(self, *_):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Catalogue)
threading.Thread(target=server.serve_forever, daemon=True).start()

FACETS = {
    "schema": schema_dataset.SchemaDatasetFacet,
    "outputStatistics": output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet,
    "errorMessage": error_message_run.ErrorMessageRunFacet,
    "parent": parent_run.ParentRunFacet,
    "processing_engine": processing_engine_run.ProcessingEngineRunFacet,
    "jobType": job_type_job.JobTypeJobFacet,
}


def facet(name, fields):
    """A facet of its class, which refuses a field that its schema doesn't have, and lacks none that it wants."""
    fields = dict(fields)
    producer, url = fields.pop("_producer"), fields.pop("_schemaURL")
    if name == "parent":
        fields = {"run": parent_run.Run(**fields["run"]), "job": parent_run.Job(**fields["job"])}
    if name == "schema":
        fields = {"fields": [schema_dataset.SchemaDatasetFacetFields(**f) for f in fields["fields"]]}
    made = FACETS[name](producer=producer, **fields)
    if url.split("/facets/")[1] != made._schemaURL.split("/facets/")[1]:
        raise SystemExit(f"openlineage: {name} names {url}, its class {made._schemaURL}")
    return made


def facets(of):
    return {name: facet(name, fields) for name, fields in of.items()}


def understood(e):
    run = base.Run(runId=e["run"]["runId"], facets=facets(e["run"]["facets"]))
    job = base.Job(namespace=e["job"]["namespace"], name=e["job"]["name"], facets=facets(e["job"]["facets"]))
    inputs = [base.InputDataset(namespace=d["namespace"], name=d["name"], facets=facets(d["facets"])) for d in e["inputs"]]
    outputs = [
        base.OutputDataset(namespace=d["namespace"], name=d["name"], facets=facets(d["facets"]), outputFacets=facets(d.get("outputFacets", {})))
        for d in e["outputs"]
    ]
    made = base.RunEvent(eventTime=e["eventTime"], producer=e["producer"], run=run, job=job, eventType=base.EventType(e["eventType"]), inputs=inputs, outputs=outputs)
    if e["schemaURL"] != made.schemaURL:
        raise SystemExit(f"openlineage: an event names {e['schemaURL']}, its class {made.schemaURL}")
    extra = set(e) - {"eventTime", "eventType", "producer", "run", "job", "inputs", "outputs", "schemaURL"}
    if extra:
        raise SystemExit(f"openlineage: an event has {extra}")
    return e["eventType"]


env = {
    **os.environ, "OPENLINEAGE_URL": f"http://127.0.0.1:{server.server_port}",
    "OPENLINEAGE_PARENT_ID": "airflow/dag.task/0199a2b4-1111-7222-8333-444455556666",
}
flags = ["run", "--embedded", "--to", work + "/out", "--currency", "USD", "--dimensions", "day", "--start", "-3d", "--metrics"]
subprocess.run([program, *flags, "installs,cost"], env=env, cwd=work, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
subprocess.run([program, *flags, "nothing_events"], env=env, cwd=work, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
types = [understood(e) for e in events]
if types != ["START", "COMPLETE", "START", "FAIL"]:
    raise SystemExit(f"openlineage: the events are {types}")
with open(work + "/events.json", "w") as file:
    json.dump(events, file)
print("openlineage: its own classes understand 4 events of a good and of a failing run")
