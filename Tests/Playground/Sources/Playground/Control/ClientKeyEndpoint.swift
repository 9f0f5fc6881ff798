/// `GET /playground/clientKey`: the private key of the clients that sign, as PEM.
struct ClientKeyEndpoint: Endpoint {
  let key: ClientKey

  func reply(to request: Request) async throws -> Reply {
    Reply(type: "application/x-pem-file", bytes: key.pem, headers: [("cache-control", "no-store")])
  }
}
