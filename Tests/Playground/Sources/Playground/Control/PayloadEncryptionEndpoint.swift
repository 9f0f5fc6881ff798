import JOSE
import PosternJSON

/// `GET /playground/payloadEncryption` shows the public key that requests are encrypted to, and whom answers go to.
/// `POST` changes `key` (a private JWK), `recipient` (a JWK) and `answers` (`encrypted`, `clear`, `tampered`), `DELETE`
/// goes back.
struct PayloadEncryptionEndpoint: Endpoint {
  let settings: PayloadSettings

  func reply(to request: Request) async throws -> Reply {
    if request.method == "POST" {
      do throws(ControlBody.Problem) {
        settings.replace(with: try changed(try ControlBody(request)))
      } catch {
        return .problem(400, error.message)
      }
    }
    if request.method == "DELETE" { settings.reset() }
    let values = settings.values
    return Reply(
      json: [
        "key": values.key?.publicJSON().map { .object($0) } ?? .null,
        "recipient": values.recipient?.publicJSON().map { .object($0) } ?? .null,
        "answers": .string(values.answers.rawValue),
      ],
      headers: [("cache-control", "no-store")])
  }

  private func changed(_ body: ControlBody) throws(ControlBody.Problem) -> PayloadSettings.Values {
    try body.rejectOthers(than: ["key", "recipient", "answers"])
    var values = settings.values
    if let key = try jwk("key", body) { values.key = key }
    if let key = try jwk("recipient", body) { values.recipient = key }
    if let name = try body.string("answers") {
      guard let answers = PayloadSettings.Answers(rawValue: name) else {
        throw ControlBody.Problem(message: "answers: encrypted, clear or tampered is expected")
      }
      values.answers = answers
    }
    return values
  }

  private func jwk(_ name: String, _ body: ControlBody) throws(ControlBody.Problem) -> JWK? {
    guard let value = body.members[name] else { return nil }
    guard let members = value.objectValue, let key = try? JWK(json: members) else {
      throw ControlBody.Problem(message: "\(name): a JWK is expected")
    }
    return key
  }
}
