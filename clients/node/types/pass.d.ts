import { JsonObject, WithMeta } from "./common";
import { CallOptions } from "./methods";
import { Status } from "./preauthorize";

/** The device whose login it is. */
export interface PassDevice {
  /**
   * The device's id, 1 to 256 bytes; default: the configured one. Another id is another device, with profiles and
   * codes of its own.
   */
  id?: string;
  /** Members of X-Device-Info, which replace configured ones of the same name. */
  info?: Record<string, string>;
  /** The device's public IP address, by which Adobe Pass limits the rate of requests. */
  address?: string;
}

export interface PassGetConfigurationParams extends WithMeta {
  /** A configured decision point of kind adobe-pass. */
  provider: string;
  /** The device whose login it is; left out: the configured device. */
  device?: PassDevice;
  /** True: with the MVPDs that stand for a TempPass; default: without. */
  includeTempPass?: boolean;
}

/** A domain of the service provider. */
export interface PassDomain {
  /** The name, which calls give as domainName. */
  name: string;
  /** Whether logins may start at the MVPD. */
  mvpdInitiated: boolean;
}

/** A television provider. */
export interface Mvpd {
  /** The id, which calls give as mvpd. */
  id: string;
  /** The name for people. */
  displayName?: string;
  /** The URL of the logo; the sidecar does not fetch it. */
  logoUrl?: string;
  /** How the platform's partner supports it: SUPPORTED, PICKER; new values may be added. */
  boardingStatus?: string;
  /** The partner's id of it. */
  platformMappingId?: string;
  /** It stands for a TempPass. */
  isTempPass: boolean;
  /** It is reached through another MVPD. */
  isProxy: boolean;
  /** Single sign-on of platforms is on. */
  enablePlatformServices: boolean;
  /** The platform's own picker shows it. */
  displayInPlatformPicker: boolean;
  /** A user who denies the platform's access gets no shared login. */
  enforcePlatformPermissions: boolean;
  /** A login is for one service provider: no single sign-on. */
  authPerAggregator: boolean;
  /** A login is for one browser session. */
  authPerBrowserSession: boolean;
  /** A login may be renewed without the user. */
  passiveAuthnEnabled: boolean;
}

export interface PassGetConfigurationResult {
  /** The service provider's id. */
  serviceProvider: string;
  /** The service provider's name. */
  displayName?: string;
  /** Its domains. */
  domains: PassDomain[];
  /** Its MVPDs, in Adobe's order. */
  mvpds: Mvpd[];
  /** Whether it came from memory. */
  cached: boolean;
  /** When it is requested again. */
  expiresAt: string;
}

/** The token of a device's platform. */
export interface PassPlatform {
  /** Amazon or roku. */
  name: "amazon" | "roku";
  /** The platform's token as it gave it; it is sent on and not inspected. */
  token: string;
}

/** The state of a partner's framework on the device. */
export interface PassPartner {
  /** The partner's name in Adobe's paths, as in Apple. */
  name: string;
  /** FrameworkPermissionInfo and frameworkProviderInfo, sent in the given order. */
  frameworkStatus: JsonObject;
}

export interface PassCreateSessionParams extends WithMeta {
  /** A configured decision point of kind adobe-pass. */
  provider: string;
  /** The MVPD that the user chose; left out, it is missing. */
  mvpd?: string;
  /** One of the configured domainNames. */
  domainName?: string;
  /** One of the configured redirectUrls, where the browser comes back to. */
  redirectUrl?: string;
  /** The device whose login it is; left out: the configured device. */
  device?: PassDevice;
  /** The Experience Cloud id (AP-Visitor-Identifier). */
  visitorId?: string;
  /** The token of the device's platform, for single sign-on. */
  platform?: PassPlatform;
  /** A token of an identity service of your own, for single sign-on: a JWS of RS256 that has not expired. */
  serviceToken?: string;
  /** The state of a partner's framework, for single sign-on with the partner. */
  partner?: PassPartner;
}

/** The request that a partner's framework makes a SAML response for. */
export interface PassAuthenticationRequest {
  /** The kind: saml. */
  type: string;
  /** The request in base64. */
  request: string;
  /** The attributes that the response must have. */
  attributesNames: string[];
}

/** The next step of a login: switch on `actionName`. */
export interface PassSession {
  /**
   * Authenticate: open url, or show the code; resume: show the code, or complete missingParameters by
   * `pass.resumeSession`; retry: complete them and resume again; authorize: the user is logged in; partner_profile:
   * give authenticationRequest to the partner's framework.
   */
  actionName: string;
  /** Interactive, with a browser; direct, without. */
  actionType: string;
  /** Why: authenticated, authenticatedSSO, temporary, degraded, none; new values may be added. */
  reasonType?: string;
  /** The service provider's id. */
  serviceProvider?: string;
  /** Adobe's id of the session, for tracking. */
  sessionId?: string;
  /** The code of the login, for the user and for the calls that continue. */
  code?: string;
  /** What the user's browser opens: absolute, of an origin that the configuration allows. */
  url?: string;
  /** The MVPD. */
  mvpd?: string;
  /** Which of mvpd, domainName and redirectUrl are missing. */
  missingParameters: string[];
  /** What a partner's framework needs. */
  authenticationRequest?: PassAuthenticationRequest;
  /** When the code's life begins. */
  notBeforeAt?: string;
  /** When the code's life ends; always there with a code. */
  expiresAt?: string;
}

export type PassCreateSessionResult = PassSession;

export interface PassResumeSessionParams extends WithMeta {
  /** A configured decision point of kind adobe-pass. */
  provider: string;
  /** The code of the login, 1 to 64 bytes. */
  code: string;
  /** The MVPD that the user chose. */
  mvpd?: string;
  /** One of the configured domainNames. */
  domainName?: string;
  /** One of the configured redirectUrls, where the browser comes back to. */
  redirectUrl?: string;
  /** The device whose login it is; left out: the configured device. */
  device?: PassDevice;
  /** True: another screen than the device calls. Nothing of the device is sent, and nothing is stored. */
  secondScreen?: boolean;
  /** The Experience Cloud id (AP-Visitor-Identifier). */
  visitorId?: string;
}

export type PassResumeSessionResult = PassSession;

export interface PassGetSessionParams extends WithMeta {
  /** A configured decision point of kind adobe-pass. */
  provider: string;
  /** The code of the login, 1 to 64 bytes. */
  code: string;
  /** The device whose login it is; left out: the configured device. */
  device?: PassDevice;
  /** True: another screen than the device calls. Nothing of the device is sent, and nothing is stored. */
  secondScreen?: boolean;
  /** The Experience Cloud id (AP-Visitor-Identifier). */
  visitorId?: string;
}

/** The device that shows a code. */
export interface PassShownDevice {
  /** The kind of hardware. */
  type?: string;
  /** The model. */
  model?: string;
  /** The application. */
  applicationId?: string;
}

export interface PassGetSessionResult {
  /** The code. */
  code: string;
  /** The service provider's id. */
  serviceProvider?: string;
  /** The MVPD. */
  mvpd?: string;
  /** The domain. */
  domainName?: string;
  /** Where the browser comes back to. */
  redirectUrl?: string;
  /** Which of mvpd, domainName and redirectUrl are missing. */
  missingParameters: string[];
  /** Where a browser logs in; left out while something is missing. */
  authenticateUrl?: string;
  /** When the code's life begins. */
  notBeforeAt?: string;
  /** When the code's life ends. */
  expiresAt?: string;
  /** The device that shows the code. */
  device?: PassShownDevice;
}

/** The state of a partner's framework, and the SAML response that it made. */
export interface PassRespondingPartner {
  /** The partner's name in Adobe's paths, as in Apple. */
  name: string;
  /** FrameworkPermissionInfo and frameworkProviderInfo, sent in the given order. */
  frameworkStatus: JsonObject;
  /** The framework's SAML response, as XML: a profile is made of it. Only without mvpd, all and code. */
  samlResponse?: string;
}

/** The identity for a promotional TempPass. */
export interface PassIdentity {
  /** The JSON text of an object, at most 4096 bytes; these bytes are sent. */
  identity: string;
}

export interface PassListProfilesParams extends WithMeta {
  /** A configured decision point of kind adobe-pass. */
  provider: string;
  /** The MVPD; only without all and code. */
  mvpd?: string;
  /** True: the profiles at every MVPD; only without mvpd and code. */
  all?: boolean;
  /** The code of a login, 1 to 64 bytes; only without mvpd and all. */
  code?: string;
  /**
   * With code: how long the call waits for the user in milliseconds, 0 (default) to 1800000. meta.timeoutMs bounds
   * the call, too.
   */
  waitMs?: number;
  /** The device whose login it is; left out: the configured device. */
  device?: PassDevice;
  /** True: another screen than the device calls. Nothing of the device is sent, and nothing is stored. */
  secondScreen?: boolean;
  /** The Experience Cloud id (AP-Visitor-Identifier). */
  visitorId?: string;
  /** The token of the device's platform, for single sign-on. */
  platform?: PassPlatform;
  /** A token of an identity service of your own, for single sign-on: a JWS of RS256 that has not expired. */
  serviceToken?: string;
  /** The state of a partner's framework, for single sign-on with the partner. */
  partner?: PassRespondingPartner;
  /** The identity for a promotional TempPass. */
  tempPass?: PassIdentity;
}

/** A login at an MVPD. */
export interface PassProfile {
  /** The MVPD's id. */
  mvpd: string;
  /** Regular, appleSSO, platformSSO, serviceTokenSSO, temporary or degraded; new values may be added. */
  type: string;
  /** Who made it: an MVPD's id, Adobe, or a partner. */
  issuer: string;
  /** When it begins. */
  notBeforeAt?: string;
  /** When it ends. */
  expiresAt: string;
  /** The user's attributes as Adobe wrote them; they may identify a person. */
  attributes: JsonObject;
}

/** The MVPD that the device's user chose before. */
export interface RememberedMvpd {
  /** The id. */
  id: string;
  /** The name, if it was known. */
  displayName?: string;
  /** The URL of the logo, if it was known. */
  logoUrl?: string;
}

export interface PassListProfilesResult {
  /**
   * Authenticated: at least one profile; unauthenticated: none; pending: nobody has logged in with the code yet;
   * expired: its life is over; superseded: a later session of the device has another code; temporaryAccessUsedUp: the
   * TempPass is over, error has more.
   */
  state: "authenticated" | "unauthenticated" | "pending" | "expired" | "superseded" | "temporaryAccessUsedUp";
  /** The profiles that have not ended. */
  profiles: PassProfile[];
  /** The MVPD of the profile to use: the remembered one, else that which lasts longest. */
  selected?: string;
  /** The MVPD that the device's user chose before. */
  remembered?: RememberedMvpd;
  /** With pending: a call before that gets the same answer. */
  nextPollMs?: number;
  /** With temporaryAccessUsedUp: Adobe's error. */
  error?: Status;
}

export interface PassAuthorizeParams extends WithMeta {
  /** A configured decision point of kind adobe-pass. */
  provider: string;
  /** Ids or MRSS fragments, 1 to 16. */
  resources: string[];
  /** The MVPD; default: the remembered one, then the configured one. */
  mvpd?: string;
  /** The device whose login it is; left out: the configured device. */
  device?: PassDevice;
  /** The Experience Cloud id (AP-Visitor-Identifier). */
  visitorId?: string;
  /** The token of the device's platform, for single sign-on. */
  platform?: PassPlatform;
  /** A token of an identity service of your own, for single sign-on: a JWS of RS256 that has not expired. */
  serviceToken?: string;
  /** The state of a partner's framework, for single sign-on with the partner. */
  partner?: PassPartner;
  /** The identity for a promotional TempPass. */
  tempPass?: PassIdentity;
}

/** The proof for the service that releases the stream. */
export interface MediaToken {
  /** The token, to be passed on unopened. */
  serializedToken: string;
  /** When it begins. */
  notBeforeAt?: string;
  /** When it ends. */
  expiresAt: string;
}

/** The decision about playing one resource. */
export interface PassDecision {
  /** The resource as the call named it. */
  id: string;
  /** True for a permit, which always has a media token; for nothing else. */
  authorized: boolean;
  /** Who decided: mvpd, degradation, temppass; new values may be added. */
  source?: string;
  /** The media token; with a permit only. */
  token?: MediaToken;
  /** When the decision begins to count at Adobe. */
  notBeforeAt?: string;
  /** When the decision ends at Adobe. */
  expiresAt?: string;
  /** Why it is no permit; always there then. */
  error?: Status;
}

export interface PassAuthorizeResult {
  /** The MVPD that the decisions are of. */
  mvpd: string;
  /** One for each resource, in the order of the call. */
  decisions: PassDecision[];
}

export interface PassLogoutParams extends WithMeta {
  /** A configured decision point of kind adobe-pass. */
  provider: string;
  /** The MVPD; default: the remembered one, then the configured one. */
  mvpd?: string;
  /** One of the configured redirectUrls, where the browser comes back to. */
  redirectUrl?: string;
  /** The device whose login it is; left out: the configured device. */
  device?: PassDevice;
  /** The Experience Cloud id (AP-Visitor-Identifier). */
  visitorId?: string;
  /** The token of the device's platform, for single sign-on. */
  platform?: PassPlatform;
  /** A token of an identity service of your own, for single sign-on: a JWS of RS256 that has not expired. */
  serviceToken?: string;
}

/** A step that is left to do for one MVPD. */
export interface PassLogoutStep {
  /** The MVPD. */
  mvpd: string;
  /** Logout: open url; partner_logout: guide the user to the system's settings; complete, invalid: nothing. */
  actionName: string;
  /** Interactive, partner_interactive or none. */
  actionType: string;
  /** What the user's browser opens. */
  url?: string;
}

export interface PassLogoutResult {
  /** Ended; failed: it can be called again, and here the login has ended; none: no MVPD was known. */
  upstream: "ended" | "failed" | "none";
  /** What is left to do, for each MVPD whose login ended. */
  logouts: PassLogoutStep[];
  /** The MVPDs that were remembered here. */
  forgotten: string[];
  /** With failed: why. */
  error?: Status;
}

/** The methods of Adobe Pass, with their names after `pass.`. */
export interface PassMethods {
  /** Returns a service provider's domains and MVPDs, for a picker. */
  getConfiguration(params: PassGetConfigurationParams, options?: CallOptions): Promise<PassGetConfigurationResult>;
  /** Starts a login at an MVPD, on this screen or on a second one. */
  createSession(params: PassCreateSessionParams, options?: CallOptions): Promise<PassCreateSessionResult>;
  /** Completes the parameters of a login by its code. */
  resumeSession(params: PassResumeSessionParams, options?: CallOptions): Promise<PassResumeSessionResult>;
  /** Returns what is known of a login by its code, for a second screen. */
  getSession(params: PassGetSessionParams, options?: CallOptions): Promise<PassGetSessionResult>;
  /** Returns the profiles of a device's logins, and waits for that of a code. */
  listProfiles(params: PassListProfilesParams, options?: CallOptions): Promise<PassListProfilesResult>;
  /** Decides about playing resources, with a media token for each permit. */
  authorize(params: PassAuthorizeParams, options?: CallOptions): Promise<PassAuthorizeResult>;
  /** Ends a login: the profile, the remembered MVPD and cached permits are forgotten. */
  logout(params: PassLogoutParams, options?: CallOptions): Promise<PassLogoutResult>;
}
