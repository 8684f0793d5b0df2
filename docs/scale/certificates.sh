#!/bin/sh
# Makes what TLS needs, in the folder that is named: a certificate authority of its own, and one key
# and certificate that scheduler, workers and command share. Whoever has key.pem can run code in the
# cluster and see its data: keep it as you keep the data.
set -eu
umask 077
mkdir -p "$1"
cd "$1"
[ -e key.pem ] && exit 0
openssl req -x509 -newkey rsa:3072 -nodes -days 365 -subj "/CN=cfl-ca" -keyout ca-key.pem -out ca.pem
openssl req -newkey rsa:3072 -nodes -subj "/CN=cfl" -keyout key.pem -out cfl.csr
openssl x509 -req -in cfl.csr -CA ca.pem -CAkey ca-key.pem -CAcreateserial -days 365 -out cert.pem
rm cfl.csr ca-key.pem  # nobody else gets a certificate
