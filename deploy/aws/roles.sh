#!/bin/sh
# The three roles of a deployment, and what they may do: no more than the policies beside this script say. Needs ACCOUNT and
# REGION. Doing it twice equals doing it once.
set -eu
cd "$(dirname "$0")"

fill() { sed "s/ACCOUNT/$ACCOUNT/g; s/REGION/$REGION/g; s/SERVICE/${2-}/g" "$1"; }
role() {
	aws iam get-role --role-name "$1" >/dev/null 2>&1 ||
		aws iam create-role --role-name "$1" --assume-role-policy-document "$(fill trust.json "$2")"
	aws iam put-role-policy --role-name "$1" --policy-name reportferry --policy-document "$(fill "$3")"
}

role reportferry ecs-tasks.amazonaws.com run-policy.json                 # the program: ledger, tables, token
role reportferry-execution ecs-tasks.amazonaws.com execution-policy.json # what ECS does for it: the image, the log
role reportferry-scheduler scheduler.amazonaws.com scheduler-policy.json # starting the task
