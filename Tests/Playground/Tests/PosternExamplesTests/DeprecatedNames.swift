import AuthEngine

// Uses each deprecated name of the engine as a program outside of Postern's package does. Compiling it is the test: it
// catches a name that is gone while programs may still have it. What is deprecated itself may use the names without a
// warning.

@available(*, deprecated, message: "uses deprecated names")
private func deprecatedTypes() -> [Any.Type] {
  [
    CookieOwner.self, PayloadEncryption.Misfit.self, DecisionContextComplaint.self, DecisionLink.self,
    DecisionPace.self, DecisionTally.self, FixedKeySource.self, HeldAuthorization.self, PublishedKeySource.self,
  ]
}

@available(*, deprecated, message: "uses deprecated names")
private func deprecatedMembers(
  _ options: FetchOptions, _ subject: DecisionSubject, _ selection: DecisionSelection, _ counts: DecisionCounts,
  _ preauthorizer: Preauthorizer, _ token: AccessToken, _ advice: FetchAdvice, _ policy: TokenManagementPolicy,
  _ settings: DecisionPoint.Settings
) async {
  _ = options.requester
  _ = options.cookieOwner
  _ = advice.asksAboutAnswers
  _ = advice.asked
  _ = policy.requiresRenewal
  _ = subject.owner
  _ = DecisionSubject(id: "", owner: 0)
  _ = selection.owner
  _ = counts.asked
  _ = DecisionPoint.Settings().pace
  _ = await preauthorizer.forgetInTurns(selection)
  _ = token.renewal
  _ = AdviceRecognizer.Scope.refusals
  _ = settings.pace
}

@available(*, deprecated, message: "uses deprecated names")
private func deprecatedSessionMembers(
  _ session: FetchSession, _ record: StoredRecord, _ store: any RecordStore, _ sessions: UserSessions,
  _ journeys: Journeys, _ live: Session, _ fault: TokenFault
) async throws {
  _ = session.owner
  _ = DecisionCredential.device(ClientCredentialsGrant(issuer: session.issuer.issuer))
  _ = record.owner
  _ = StoredRecord(key: record.key, owner: 0, version: 1, expiresAt: nil, contents: record.contents)
  try store.hold(isNested: false)
  store.letGo()
  _ = SessionError.Kind.noRoom
  let handle = live.handle
  _ = SessionEvent.refreshed(live, owner: 0)
  _ = SessionEvent.expiring(live, owner: 0)
  _ = SessionEvent.renewalFailed(handle, issuer: "", error: .notFound)
  _ = SessionEvent.ended(handle, issuer: "", owner: 0)
  _ = SessionEvent.steppedUp(handle, owner: 0)
  _ = SessionEvent.idTokenRefused(issuer: "", fault: fault)
  _ = UserSessions.defaultMaxOwnerBytes
  _ = try await journeys.goOn("", callbacks: nil, ownedBy: 0, issuer: { _ in session.issuer })
}
