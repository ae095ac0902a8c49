#!/bin/sh
# Starts the task now: run, or the arguments of the program that are given. Prints the task's ARN. Needs SUBNET.
set -eu
args=$(printf ',"%s"' "${@:-run}")
aws ecs run-task --cluster reportferry --task-definition reportferry --launch-type FARGATE --query 'tasks[0].taskArn' --output text \
	--network-configuration "awsvpcConfiguration={subnets=[$SUBNET],assignPublicIp=ENABLED}" \
	--overrides "{\"containerOverrides\":[{\"name\":\"reportferry\",\"command\":[${args#,}]}]}"
