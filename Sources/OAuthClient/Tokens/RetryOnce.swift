/// Sends a request with a token, and once more with a newer one if the server rejects the token. The second answer is
/// the result, whatever it is: a server that rejects a new token, too, will not change its mind.
///
/// - Parameters:
///   - token: the token to send: the current one, then one newer than the rejected one, whose answer it gets, too.
///   - send: one request; `isRetry` for the second one.
///   - isRejected: whether the answer rejects the token.
package func retryOnce<Token, Answer, Failure: Error>(
  with token: (_ rejected: (token: Token, answer: Answer)?) async throws(Failure) -> Token,
  send: (_ token: Token, _ isRetry: Bool) async throws(Failure) -> Answer,
  ifRejected isRejected: (Answer) -> Bool
) async throws(Failure) -> Answer {
  let first = try await token(nil)
  let answer = try await send(first, false)
  guard isRejected(answer) else { return answer }
  return try await send(try await token((first, answer)), true)
}
